// The kernel language: OpKernel, the contexts it gets, tensors, and the registration with its conditions.
#pragma once

#include "opkit/shape.h"

namespace oneflow {
class DeviceCtx {};
class MemoryCase {
 public:
  bool has_host_mem() const { return true; }
  bool has_device_cuda_mem() const { return false; }
};
class JobDesc {
 public:
  bool IsTrain() const { return true; }
  bool IsPredict() const { return false; }
};

// A kernel sees one device: nothing is split.
class ParallelContext {
 public:
  int64_t parallel_id() const { return 0; }
  int64_t parallel_num() const { return 1; }
};
class ParallelDesc {
 public:
  int64_t parallel_num() const { return 1; }
  std::shared_ptr<Shape> hierarchy() const { return std::make_shared<Shape>(Shape({1})); }
};
class SbpParallel {
 public:
  struct Split {
    int64_t axis() const { return 0; }
  };
  bool has_split_parallel() const { return false; }
  bool has_broadcast_parallel() const { return true; }
  bool has_partial_sum_parallel() const { return false; }
  Split split_parallel() const { return Split(); }
};
class ParallelDistribution {
 public:
  const SbpParallel& sbp_parallel(int64_t) const { return part_; }
  int64_t sbp_parallel_size() const { return 1; }
 private:
  SbpParallel part_;
};
inline TensorSliceView GetTensorSliceView4ParallelId(const Shape&, const ParallelDistribution&, const Shape& logical,
                                                     int64_t) {
  return TensorSliceView(logical);
}

namespace user_op {
class TensorDesc {
 public:
  TensorDesc() = default;
  TensorDesc(const Shape& shape, DataType type) : shape_(shape), type_(type) {}
  const Shape& shape() const { return shape_; }
  Shape* mut_shape() { return &shape_; }
  DataType data_type() const { return type_; }
  DataType* mut_data_type() { return &type_; }
  bool is_dynamic() const { return is_dynamic_; }
  bool* mut_is_dynamic() { return &is_dynamic_; }
  void set_is_dynamic(bool value) { is_dynamic_ = value; }
 private:
  Shape shape_;
  DataType type_ = kInvalidDataType;
  bool is_dynamic_ = false;
};
using NaiveTensorDesc = TensorDesc;

using Arg = std::pair<std::string, int32_t>;

// A tensor of one call: where its data are, and what it is.
class Tensor {
 public:
  Tensor(const std::string& name, const TensorDesc* desc, void* data)
      : name_(name), shape_(desc->shape()), type_(desc->data_type()), data_(data) {}
  Tensor(const std::string& name, int64_t bytes, void* data)
      : name_(name), own_(std::make_shared<Shape>(Shape({bytes}))), shape_(*own_), type_(kChar), data_(data) {}
  const ShapeView& shape() const { return shape_; }
  MutShapeView* mut_shape() { throw ::opkit::Failure(__FILE__, __LINE__, "tensor " + name_ + " has a fixed shape"); }
  DataType data_type() const { return type_; }
  const MemoryCase& mem_case() const { return memory_; }
  template<typename T = void>
  const T* dptr(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    return static_cast<const T*>(Checked<T>("dptr", file, line));
  }
  template<typename T = void>
  T* mut_dptr(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return static_cast<T*>(Checked<T>("mut_dptr", file, line));
  }
  template<typename T = void>
  T* mut_dptr(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    return static_cast<T*>(Checked<T>("mut_dptr", file, line));
  }
  const void* raw_dptr() const { return data_; }
  void* mut_raw_dptr() { return data_; }
 private:
  template<typename T>
  void* Checked(const char* what, const char* file, int line) const {
    if constexpr (!std::is_void<T>::value && !std::is_same<typename std::remove_cv<T>::type, char>::value) {
      constexpr DataType asked = GetDataType<typename std::remove_cv<T>::type>::value;
      if (type_ != asked && type_ != kChar) {
        WrongType(what, asked, file, line);
      }
    }
    return data_;
  }
  [[noreturn]] void WrongType(const char* what, DataType asked, const char* file, int line) const;
  std::string name_;
  std::shared_ptr<Shape> own_;
  ShapeView shape_;
  DataType type_;
  void* data_;
  MemoryCase memory_;
};
}  // namespace user_op
}  // namespace oneflow
namespace opkit {
// The attributes of an op: each holds a value of the C++ type of its declared type.
class Attrs {
 public:
  template<typename T>
  void Add(const std::string& name, const std::string& type, T value) {
    items_[name] = Item{type, &typeid(T), std::make_shared<T>(std::move(value))};
  }
  template<typename T>
  const T& Get(const std::string& name, const char* file, int line) const {
    const auto found = items_.find(name);
    if (found == items_.end()) {
      std::string known;
      for (const auto& item : items_) known += (known.empty() ? "" : ", ") + item.first;
      throw Failure(file, line, "no attribute '" + name + "'; the op has " + (known.empty() ? "none" : known));
    }
    if (*found->second.info != typeid(T)) {
      throw Failure(file, line, "attribute '" + name + "' is declared as " + found->second.type + ", Attr<T> asks for another type");
    }
    return *static_cast<const T*>(found->second.value.get());
  }
 private:
  struct Item {
    std::string type;
    const std::type_info* info;
    std::shared_ptr<void> value;
  };
  std::map<std::string, Item> items_;
};

// What is known of an op before it runs: arguments, their descriptions, attributes.
struct Signature {
  std::string op_type, op_name, device_tag, device_sub_tag;
  std::vector<oneflow::user_op::Arg> inputs, outputs;
  std::vector<std::string> declared;
  std::vector<oneflow::user_op::TensorDesc> descs;  // of the inputs, then of the outputs
  Attrs attrs;

  int Find(const std::string& name, int32_t index) const;  // -1 where there is none
  // An argument that the op does not declare is a mistake of the kernel; one that was left out is not there.
  void CheckDeclared(const std::string& name, const char* file, int line) const;
};

inline int32_t CountOf(const std::vector<oneflow::user_op::Arg>& args, const std::string& name) {
  int32_t count = 0;
  for (const auto& arg : args) count += arg.first == name;
  return count;
}

// What every context can be asked.
class View {
 public:
  explicit View(Signature* signature) : signature_(signature) {}
  const std::vector<oneflow::user_op::Arg>& inputs() const { return signature_->inputs; }
  const std::vector<oneflow::user_op::Arg>& outputs() const { return signature_->outputs; }
  int32_t input_size(const std::string& name) const { return CountOf(inputs(), name); }
  int32_t output_size(const std::string& name) const { return CountOf(outputs(), name); }
  bool has_input(const std::string& name, int32_t index) const { return index < input_size(name); }
  bool has_output(const std::string& name, int32_t index) const { return index < output_size(name); }
  std::string input(const std::string& name, int32_t index) const { return name + "_" + std::to_string(index); }
  std::string output(const std::string& name, int32_t index) const { return name + "_" + std::to_string(index); }
  const std::string& op_name() const { return signature_->op_name; }
  const std::string& op_type_name() const { return signature_->op_type; }
  const std::string& device_tag() const { return signature_->device_tag; }
  oneflow::DeviceType device_type() const { return oneflow::kCPU; }
  oneflow::DeviceCtx* device_ctx() const {
    static oneflow::DeviceCtx context;
    return &context;
  }
  const oneflow::ParallelContext& parallel_ctx() const {
    static const oneflow::ParallelContext context;
    return context;
  }
  const oneflow::ParallelDesc& parallel_desc() const {
    static const oneflow::ParallelDesc desc;
    return desc;
  }
  const oneflow::JobDesc& job_desc() const {
    static const oneflow::JobDesc desc;
    return desc;
  }
  const oneflow::SbpParallel& SbpParallel4ArgNameAndIndex(const std::string&, int32_t) const {
    static const oneflow::SbpParallel part;
    return part;
  }
  const oneflow::ParallelDistribution& ParallelDistribution4ArgNameAndIndex(const std::string&, int32_t) const {
    static const oneflow::ParallelDistribution parts;
    return parts;
  }
  template<typename T>
  const T& Attr(const std::string& name, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    return signature_->attrs.Get<T>(name, file, line);
  }
  template<typename T>
  const T& attr(const std::string& name, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
    return signature_->attrs.Get<T>(name, file, line);
  }
  oneflow::user_op::TensorDesc* TensorDesc4ArgNameAndIndex(const std::string& name, int32_t index,
                                                           const char* file = __builtin_FILE(),
                                                           int line = __builtin_LINE()) const;
  oneflow::user_op::TensorDesc* LogicalTensorDesc4ArgNameAndIndex(const std::string& name, int32_t index,
                                                                  const char* file = __builtin_FILE(),
                                                                  int line = __builtin_LINE()) const {
    return TensorDesc4ArgNameAndIndex(name, index, file, line);
  }
  const Signature& signature() const { return *signature_; }
 protected:
  Signature* signature_;
};
}  // namespace opkit
namespace oneflow {
namespace user_op {
class UserOpConfWrapper : public ::opkit::View {
 public:
  using View::View;
};

class KernelRegContext : public ::opkit::View {
 public:
  using View::View;
  UserOpConfWrapper user_op_conf() const { return UserOpConfWrapper(signature_); }
};
class KernelCreateContext : public KernelRegContext {
 public:
  using KernelRegContext::KernelRegContext;
};
class KernelInitContext : public KernelRegContext {
 public:
  using KernelRegContext::KernelRegContext;
};

class InferContext : public KernelRegContext {
 public:
  using KernelRegContext::KernelRegContext;
  Shape* Shape4ArgNameAndIndex(const std::string& name, int32_t index, const char* file = __builtin_FILE(),
                               int line = __builtin_LINE()) const {
    TensorDesc* desc = TensorDesc4ArgNameAndIndex(name, index, file, line);
    return desc ? desc->mut_shape() : nullptr;
  }
  DataType* Dtype4ArgNameAndIndex(const std::string& name, int32_t index, const char* file = __builtin_FILE(),
                                  int line = __builtin_LINE()) const {
    TensorDesc* desc = TensorDesc4ArgNameAndIndex(name, index, file, line);
    return desc ? desc->mut_data_type() : nullptr;
  }
};

class KernelComputeContext : public KernelRegContext {
 public:
  KernelComputeContext(::opkit::Signature* signature, std::vector<Tensor>* tensors, Tensor* temporary)
      : KernelRegContext(signature), tensors_(tensors), temporary_(temporary) {}
  Tensor* Tensor4ArgNameAndIndex(const std::string& name, int32_t index, const char* file = __builtin_FILE(),
                                 int line = __builtin_LINE());
 private:
  std::vector<Tensor>* tensors_;
  Tensor* temporary_;
};

// Shapes are known before a kernel runs: InferShape is never called.
class KernelInferContext : public InferContext {
 public:
  using InferContext::InferContext;
  const ShapeView& ShapeView4ArgNameAndIndex(const std::string& name, int32_t index) {
    view_ = ShapeView(*Shape4ArgNameAndIndex(name, index));
    return view_;
  }
  MutShapeView* MutShapeView4ArgNameAndIndex(const std::string&, int32_t) { return &mut_view_; }
 private:
  ShapeView view_;
  MutShapeView mut_view_;
};

class OpKernelState {
 public:
  virtual ~OpKernelState() = default;
};

class OpKernel {
 public:
  OpKernel() = default;
  OF_DISALLOW_COPY_AND_MOVE(OpKernel);
  virtual ~OpKernel() = default;
  virtual std::shared_ptr<OpKernelState> CreateOpKernelState(KernelInitContext*) const { return nullptr; }
  virtual void Compute(KernelComputeContext* ctx, OpKernelState*) const { Compute(ctx); }
  virtual void Compute(KernelComputeContext* ctx) const {
    throw ::opkit::Failure("", 0, "the kernel of op '" + ctx->op_type_name() + "' has no function Compute");
  }
  virtual void InferShape(KernelInferContext*) const {}
  virtual bool AlwaysComputeWhenAllOutputsEmpty() const = 0;
};

// A condition on an op, with what of it is not so. Functions that are not templates are defined in entry.cpp, where
// they are compiled once.
class Condition {
 public:
  struct Node {
    virtual ~Node() = default;
    virtual bool Test(const KernelRegContext& ctx) const = 0;
    virtual std::string Text(const KernelRegContext* ctx) const = 0;  // with a context: and what is so instead
    virtual void Lacking(const KernelRegContext& ctx, std::vector<std::string>* lacking) const;
  };
  explicit Condition(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  bool operator()(const KernelRegContext& ctx) const { return node_->Test(ctx); }
  Condition operator&(const Condition& other) const;
  Condition operator|(const Condition& other) const;
  Condition operator!() const;
  Condition operator~() const { return !*this; }
  Condition operator&&(const Condition& other) const { return *this & other; }
  Condition operator||(const Condition& other) const { return *this | other; }
  const Node& node() const { return *node_; }
 private:
  std::shared_ptr<const Node> node_;
};

template<typename T>
std::string TextOf(const T& value) {
  std::ostringstream out;
  ::opkit::Shown(out, value, 0);
  return out.str();
}
inline std::string TextOf(const DataType& value) { return DataType_Name(value); }
inline std::string TextOf(const bool& value) { return value ? "true" : "false"; }

// A property of an op that conditions compare with a value.
template<typename T>
class Property {
 public:
  using Get = std::function<T(const KernelRegContext&)>;
  Property(const std::string& text, Get get) : text_(text), get_(std::move(get)) {}
#define OPKIT_PROPERTY_OPERATOR(op)                                                                                \
  Condition operator op(const T& value) const { return Made(value, #op, [](const T& a, const T& b) { return a op b; }); }
  OPKIT_PROPERTY_OPERATOR(==)
  OPKIT_PROPERTY_OPERATOR(!=)
  OPKIT_PROPERTY_OPERATOR(<)
  OPKIT_PROPERTY_OPERATOR(<=)
  OPKIT_PROPERTY_OPERATOR(>)
  OPKIT_PROPERTY_OPERATOR(>=)
#undef OPKIT_PROPERTY_OPERATOR
 private:
  struct Comparison final : Condition::Node {
    Comparison(const Property& property, const T& value, const char* op, bool (*test)(const T&, const T&))
        : property(property), value(value), op(op), test(test) {}
    bool Test(const KernelRegContext& ctx) const override { return test(property.get_(ctx), value); }
    std::string Text(const KernelRegContext* ctx) const override {
      const std::string text = property.text_ + " " + op + " " + TextOf(value);
      return ctx ? text + " (it is " + TextOf(property.get_(*ctx)) + ")" : text;
    }
    Property property;
    T value;
    const char* op;
    bool (*test)(const T&, const T&);
  };
  Condition Made(const T& value, const char* op, bool (*test)(const T&, const T&)) const {
    return Condition(std::make_shared<Comparison>(*this, value, op, test));
  }
  std::string text_;
  Get get_;
};
extern template class Property<std::string>;
extern template class Property<DataType>;

// A tag, compared with text or with a device.
class TagProperty {
 public:
  explicit TagProperty(const Property<std::string>& property) : property_(property) {}
  Condition operator==(const std::string& value) const;
  Condition operator!=(const std::string& value) const;
  Condition operator==(DeviceType type) const;
  Condition operator!=(DeviceType type) const;
 private:
  Property<std::string> property_;
};

Condition HobTrue();
Condition HobFalse();
Condition OwnTest(const std::function<bool(const KernelRegContext&)>& test);
TagProperty HobDeviceTag();
TagProperty HobDeviceSubTag();
inline TagProperty HobDeviceType() { return HobDeviceTag(); }
Property<DataType> HobDataType(const std::string& name, int32_t index, const char* file = __builtin_FILE(),
                               int line = __builtin_LINE());
template<typename T>
Property<T> HobAttr(const std::string& name, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return Property<T>("attribute " + name, [name, file, line](const KernelRegContext& ctx) {
    return ctx.Attr<T>(name, file, line);
  });
}
template<typename T>
Property<T> HobCtxGetter(const std::string& text, const std::function<T(const KernelRegContext&)>& get) {
  return Property<T>(text, get);
}

using AddInplaceArgPair =
    std::function<Maybe<void>(const std::string&, int32_t, const std::string&, int32_t, bool)>;

using InferTmpSizeFn = std::function<size_t(InferContext*)>;
using InplaceProposalFn = std::function<Maybe<void>(const InferContext&, AddInplaceArgPair)>;

// One REGISTER_USER_KERNEL.
struct Registration {
  Registration(const std::string& op_type, const char* file, int line);
  Registration(const Registration&);
  ~Registration();
  template<typename T>
  Registration& SetCreateFn() {
    create = [](KernelCreateContext*) -> OpKernel* { return new T(); };
    return *this;
  }
  template<typename T>
  Registration& SetCreateWithCtxFn() {
    create = [](KernelCreateContext* ctx) -> OpKernel* { return new T(ctx); };
    return *this;
  }
  template<typename F>
  Registration& SetCreateFn(F function) {
    create = function;
    return *this;
  }
  Registration& SetIsMatchedHob(const Condition& matched);
  Registration& SetIsMatchedPred(const std::function<bool(const KernelRegContext&)>& test) {
    return SetIsMatchedHob(OwnTest(test));
  }
  Registration& SetInferTmpSizeFn(const InferTmpSizeFn& function);
  Registration& SetInplaceProposalFn(const InplaceProposalFn& function);
  std::string op_type;
  const char* file;
  int line;
  std::function<OpKernel*(KernelCreateContext*)> create;
  std::shared_ptr<Condition> condition;
  InferTmpSizeFn temporary_size;
  InplaceProposalFn propose;
};

struct Registered {
  Registered(const Registration& registration);
};
}  // namespace user_op
}  // namespace oneflow

#define REGISTER_USER_KERNEL(name)                                                                \
  static const ::oneflow::user_op::Registered OPKIT_GLUE(opkit_registered_, __COUNTER__) = \
      ::oneflow::user_op::Registration(name, __FILE__, __LINE__)
