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
  MutShapeView* mut_shape() {
    throw ::opkit::Failure(__FILE__, __LINE__, "tensor " + name_ + " has a fixed shape");
  }
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
        throw ::opkit::Failure(file, line, std::string(what) + " asks for " + DataType_Name(asked) + ", tensor '" + name_
                                               + "' is " + DataType_Name(type_));
      }
    }
    return data_;
  }
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

  int Find(const std::string& name, int32_t index) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].second == index && inputs[i].first == name) return static_cast<int>(i);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].second == index && outputs[i].first == name) return static_cast<int>(inputs.size() + i);
    }
    return -1;
  }
  // An argument that the op does not declare is a mistake of the kernel; one that was left out is not there.
  void CheckDeclared(const std::string& name, const char* file, int line) const {
    if (std::find(declared.begin(), declared.end(), name) != declared.end()) return;
    std::string known;
    for (const auto& item : declared) known += (known.empty() ? "" : ", ") + item;
    throw Failure(file, line, "op '" + op_type + "' has no argument '" + name + "'; it has " + known);
  }
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
                                                           int line = __builtin_LINE()) const {
    const int place = signature_->Find(name, index);
    if (place >= 0) return &signature_->descs[place];
    signature_->CheckDeclared(name, file, line);
    return nullptr;
  }
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
                                 int line = __builtin_LINE()) {
    const int place = signature_->Find(name, index);
    if (place >= 0) return &(*tensors_)[place];
    if (name == "tmp_buffer") return temporary_;
    signature_->CheckDeclared(name, file, line);
    return nullptr;
  }

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

// A condition on an op, with what of it is not so.
class Condition {
 public:
  using Test = std::function<bool(const KernelRegContext&)>;
  using Lacks = std::function<std::vector<std::string>(const KernelRegContext&)>;
  Condition(Test test, std::string text) : test_(std::move(test)), text_(text) {
    const Test asked = test_;
    lacks_ = [asked, text](const KernelRegContext& ctx) {
      return asked(ctx) ? std::vector<std::string>() : std::vector<std::string>{text};
    };
  }
  Condition(Test test, std::string text, Lacks lacks)
      : test_(std::move(test)), lacks_(std::move(lacks)), text_(std::move(text)) {}
  bool operator()(const KernelRegContext& ctx) const { return test_(ctx); }
  std::vector<std::string> Lacking(const KernelRegContext& ctx) const { return lacks_(ctx); }
  const std::string& text() const { return text_; }

  Condition operator&(const Condition& other) const {
    const Condition a = *this, b = other;
    return Condition([a, b](const KernelRegContext& ctx) { return a(ctx) && b(ctx); }, a.text() + " and " + b.text(),
                     [a, b](const KernelRegContext& ctx) {
                       auto lacking = a.Lacking(ctx);
                       for (const auto& item : b.Lacking(ctx)) lacking.push_back(item);
                       return lacking;
                     });
  }
  Condition operator|(const Condition& other) const {
    const Condition a = *this, b = other;
    return Condition([a, b](const KernelRegContext& ctx) { return a(ctx) || b(ctx); },
                     "(" + a.text() + " or " + b.text() + ")");
  }
  Condition operator!() const {
    const Condition a = *this;
    return Condition([a](const KernelRegContext& ctx) { return !a(ctx); }, "not (" + a.text() + ")");
  }
  Condition operator~() const { return !*this; }
  Condition operator&&(const Condition& other) const { return *this & other; }
  Condition operator||(const Condition& other) const { return *this | other; }

 private:
  Test test_;
  Lacks lacks_;
  std::string text_;
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
#define OPKIT_PROPERTY_OPERATOR(op)                                                                          \
  Condition operator op(const T& value) const {                                                              \
    const Property a = *this;                                                                                \
    const std::string text = text_ + " " #op " " + TextOf(value);                                            \
    return Condition([a, value](const KernelRegContext& ctx) { return a.get_(ctx) op value; }, text,         \
                     [a, value, text](const KernelRegContext& ctx) {                                         \
                       const T is = a.get_(ctx);                                                             \
                       return is op value ? std::vector<std::string>()                                       \
                                          : std::vector<std::string>{text + " (it is " + TextOf(is) + ")"};  \
                     });                                                                                     \
  }                                                                                                          \
  Condition operator op(const Property& other) const {                                                       \
    const Property a = *this, b = other;                                                                     \
    return Condition([a, b](const KernelRegContext& ctx) { return a.get_(ctx) op b.get_(ctx); },             \
                     a.text_ + " " #op " " + b.text_);                                                       \
  }
  OPKIT_PROPERTY_OPERATOR(==)
  OPKIT_PROPERTY_OPERATOR(!=)
  OPKIT_PROPERTY_OPERATOR(<)
  OPKIT_PROPERTY_OPERATOR(<=)
  OPKIT_PROPERTY_OPERATOR(>)
  OPKIT_PROPERTY_OPERATOR(>=)
#undef OPKIT_PROPERTY_OPERATOR

 private:
  std::string text_;
  Get get_;
};

// A tag, compared with text or with a device.
class TagProperty {
 public:
  explicit TagProperty(const Property<std::string>& property) : property_(property) {}
  Condition operator==(const std::string& value) const { return property_ == value; }
  Condition operator!=(const std::string& value) const { return property_ != value; }
  Condition operator==(const char* value) const { return property_ == std::string(value); }
  Condition operator!=(const char* value) const { return property_ != std::string(value); }
  Condition operator==(DeviceType type) const { return property_ == std::string(type == kGPU ? "gpu" : "cpu"); }
  Condition operator!=(DeviceType type) const { return property_ != std::string(type == kGPU ? "gpu" : "cpu"); }

 private:
  Property<std::string> property_;
};

inline Condition HobTrue() {
  return Condition([](const KernelRegContext&) { return true; }, "true");
}
inline Condition HobFalse() {
  return Condition([](const KernelRegContext&) { return false; }, "false");
}
inline TagProperty HobDeviceTag() {
  return TagProperty(Property<std::string>("device tag", [](const KernelRegContext& ctx) { return ctx.device_tag(); }));
}
inline TagProperty HobDeviceSubTag() {
  return TagProperty(Property<std::string>(
      "device_sub_tag", [](const KernelRegContext& ctx) { return ctx.signature().device_sub_tag; }));
}
inline TagProperty HobDeviceType() { return HobDeviceTag(); }
inline Property<DataType> HobDataType(const std::string& name, int32_t index, const char* file = __builtin_FILE(),
                                      int line = __builtin_LINE()) {
  return Property<DataType>("dtype of '" + name + "'" + (index ? " " + std::to_string(index) : ""),
                            [name, index, file, line](const KernelRegContext& ctx) {
                              const auto* desc = ctx.TensorDesc4ArgNameAndIndex(name, index, file, line);
                              return desc ? desc->data_type() : kInvalidDataType;
                            });
}
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
  Registration(const std::string& op_type, const char* file, int line) : op_type(op_type), file(file), line(line) {}
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
  Registration& SetIsMatchedHob(const Condition& matched) {
    condition = std::make_shared<Condition>(matched);
    return *this;
  }
  Registration& SetIsMatchedPred(const Condition::Test& test) {
    return SetIsMatchedHob(Condition(test, "the registration's own test"));
  }
  Registration& SetInferTmpSizeFn(const InferTmpSizeFn& function) {
    temporary_size = function;
    return *this;
  }
  Registration& SetInplaceProposalFn(const InplaceProposalFn& function) {
    propose = function;
    return *this;
  }
  std::string op_type;
  const char* file;
  int line;
  std::function<OpKernel*(KernelCreateContext*)> create;
  std::shared_ptr<Condition> condition;
  InferTmpSizeFn temporary_size;
  InplaceProposalFn propose;
};

// All registrations of the library, in a list that is made before the first of them.
inline std::vector<Registration>& Registrations() {
  static std::vector<Registration> all;
  return all;
}
struct Registered {
  Registered(const Registration& registration) { Registrations().push_back(registration); }
};

}  // namespace user_op
}  // namespace oneflow

#define REGISTER_USER_KERNEL(name)                                                                \
  static const ::oneflow::user_op::Registered OPKIT_GLUE(opkit_registered_, __COUNTER__) = \
      ::oneflow::user_op::Registration(name, __FILE__, __LINE__)
