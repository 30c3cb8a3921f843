// The functions through which a library of kernels is used: what is registered, a plan for one op, a call of a plan.
//
// They have a C interface. What they take and give as text is a row of fields, each as "length:bytes".
#include <cxxabi.h>

#include "opkit/framework.h"

namespace opkit {
Stop::Stop(const char* file, int line, const std::string& text) : file_(file), line_(line) { stream_ << text; }
Stop::~Stop() noexcept(false) { if (std::uncaught_exceptions() == 0) throw Failure(file_, line_, stream_.str()); }
Line::~Line() { if (is_shown_) std::cerr << stream_.str() + "\n"; }

int Signature::Find(const std::string& name, int32_t index) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].second == index && inputs[i].first == name) return static_cast<int>(i);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].second == index && outputs[i].first == name) return static_cast<int>(inputs.size() + i);
  }
  return -1;
}

void Signature::CheckDeclared(const std::string& name, const char* file, int line) const {
  if (std::find(declared.begin(), declared.end(), name) != declared.end()) return;
  std::string known;
  for (const auto& item : declared) known += (known.empty() ? "" : ", ") + item;
  throw Failure(file, line, "op '" + op_type + "' has no argument '" + name + "'; it has " + known);
}

oneflow::user_op::TensorDesc* View::TensorDesc4ArgNameAndIndex(const std::string& name, int32_t index,
                                                               const char* file, int line) const {
  const int place = signature_->Find(name, index);
  if (place >= 0) return &signature_->descs[place];
  signature_->CheckDeclared(name, file, line);
  return nullptr;
}
}  // namespace opkit
namespace oneflow {
template class ShapeReader<Shape>;
template class ShapeReader<ShapeViewOf<const int64_t>>;

namespace user_op {
void Tensor::WrongType(const char* what, DataType asked, const char* file, int line) const {
  throw ::opkit::Failure(file, line, std::string(what) + " asks for " + DataType_Name(asked) + ", tensor '" + name_
                                         + "' is " + DataType_Name(type_));
}

Tensor* KernelComputeContext::Tensor4ArgNameAndIndex(const std::string& name, int32_t index, const char* file,
                                                     int line) {
  const int place = signature_->Find(name, index);
  if (place >= 0) return &(*tensors_)[place];
  if (name == "tmp_buffer") return temporary_;
  signature_->CheckDeclared(name, file, line);
  return nullptr;
}

template class Property<std::string>;
template class Property<DataType>;

namespace {
struct Both final : Condition::Node {
  Both(Condition a, Condition b) : a(std::move(a)), b(std::move(b)) {}
  bool Test(const KernelRegContext& ctx) const override { return a(ctx) && b(ctx); }
  std::string Text(const KernelRegContext* ctx) const override {
    return a.node().Text(ctx) + " and " + b.node().Text(ctx);
  }
  void Lacking(const KernelRegContext& ctx, std::vector<std::string>* lacking) const override {
    a.node().Lacking(ctx, lacking);
    b.node().Lacking(ctx, lacking);
  }
  Condition a, b;
};
struct Either final : Condition::Node {
  Either(Condition a, Condition b) : a(std::move(a)), b(std::move(b)) {}
  bool Test(const KernelRegContext& ctx) const override { return a(ctx) || b(ctx); }
  std::string Text(const KernelRegContext* ctx) const override {
    return "(" + a.node().Text(ctx) + " or " + b.node().Text(ctx) + ")";
  }
  Condition a, b;
};
struct Not final : Condition::Node {
  explicit Not(Condition a) : a(std::move(a)) {}
  bool Test(const KernelRegContext& ctx) const override { return !a(ctx); }
  std::string Text(const KernelRegContext*) const override { return "not (" + a.node().Text(nullptr) + ")"; }
  Condition a;
};
struct Own final : Condition::Node {
  Own(std::string text, std::function<bool(const KernelRegContext&)> test)
      : text(std::move(text)), test(std::move(test)) {}
  bool Test(const KernelRegContext& ctx) const override { return test(ctx); }
  std::string Text(const KernelRegContext*) const override { return text; }
  std::string text;
  std::function<bool(const KernelRegContext&)> test;
};
}  // namespace

void Condition::Node::Lacking(const KernelRegContext& ctx, std::vector<std::string>* lacking) const {
  if (!Test(ctx)) lacking->push_back(Text(&ctx));
}
Condition Condition::operator&(const Condition& other) const { return Condition(std::make_shared<Both>(*this, other)); }
Condition Condition::operator|(const Condition& other) const {
  return Condition(std::make_shared<Either>(*this, other));
}
Condition Condition::operator!() const { return Condition(std::make_shared<Not>(*this)); }

Condition OwnTest(const std::function<bool(const KernelRegContext&)>& test) {
  return Condition(std::make_shared<Own>("the registration's own test", test));
}
Condition HobTrue() {
  return Condition(std::make_shared<Own>("true", [](const KernelRegContext&) { return true; }));
}
Condition HobFalse() {
  return Condition(std::make_shared<Own>("false", [](const KernelRegContext&) { return false; }));
}

Condition TagProperty::operator==(const std::string& value) const { return property_ == value; }
Condition TagProperty::operator!=(const std::string& value) const { return property_ != value; }
Condition TagProperty::operator==(DeviceType type) const { return property_ == (type == kGPU ? "gpu" : "cpu"); }
Condition TagProperty::operator!=(DeviceType type) const { return property_ != (type == kGPU ? "gpu" : "cpu"); }

TagProperty HobDeviceTag() {
  return TagProperty(Property<std::string>("device tag", [](const KernelRegContext& ctx) { return ctx.device_tag(); }));
}
TagProperty HobDeviceSubTag() {
  return TagProperty(Property<std::string>(
      "device_sub_tag", [](const KernelRegContext& ctx) { return ctx.signature().device_sub_tag; }));
}
Property<DataType> HobDataType(const std::string& name, int32_t index, const char* file, int line) {
  return Property<DataType>("dtype of '" + name + "'" + (index ? " " + std::to_string(index) : ""),
                            [name, index, file, line](const KernelRegContext& ctx) {
                              const auto* desc = ctx.TensorDesc4ArgNameAndIndex(name, index, file, line);
                              return desc ? desc->data_type() : kInvalidDataType;
                            });
}

Registration::Registration(const std::string& op_type, const char* file, int line)
    : op_type(op_type), file(file), line(line) {}
Registration::Registration(const Registration&) = default;
Registration::~Registration() = default;
Registration& Registration::SetIsMatchedHob(const Condition& matched) {
  condition = std::make_shared<Condition>(matched);
  return *this;
}
Registration& Registration::SetInferTmpSizeFn(const InferTmpSizeFn& function) {
  temporary_size = function;
  return *this;
}
Registration& Registration::SetInplaceProposalFn(const InplaceProposalFn& function) {
  propose = function;
  return *this;
}

// All registrations of the library, in a list that is made before the first of them.
std::list<Registration>& Registrations() {
  static std::list<Registration> all;
  return all;
}
Registered::Registered(const Registration& registration) { Registrations().push_back(registration); }
}  // namespace user_op
}  // namespace oneflow

#define OPKIT_EXPORT extern "C" __attribute__((visibility("default")))

namespace {
using namespace oneflow;           // NOLINT
using namespace oneflow::user_op;  // NOLINT

class FieldReader {
 public:
  explicit FieldReader(const char* text) : at_(text) {}
  std::string Text() {
    char* end = nullptr;
    const size_t length = std::strtoull(at_, &end, 10);
    if (end == at_ || *end != ':') throw std::runtime_error("opkit: a field is broken");
    at_ = end + 1 + length;
    return std::string(end + 1, length);
  }
  int64_t Int() { return std::strtoll(Text().c_str(), nullptr, 10); }
  double Real() { return std::strtod(Text().c_str(), nullptr); }
 private:
  const char* at_;
};

class FieldWriter {
 public:
  void Text(const std::string& text) { text_ += std::to_string(text.size()) + ":" + text; }
  void Int(int64_t value) { Text(std::to_string(value)); }
  std::string text_;
};

thread_local std::string returned;  // what the last function of this thread gave

void Fail(const std::string& kind, const std::string& file, int line, const std::string& text) {
  FieldWriter out;
  out.Text(kind);
  out.Text(file);
  out.Int(line);
  out.Text(text);
  returned = out.text_;
}

// Runs a function and keeps what it throws; returns whether it threw nothing.
template<typename F>
bool Guarded(F function) {
  try {
    function();
    return true;
  } catch (const ::opkit::Failure& failure) {
    Fail("check", failure.file, failure.line, failure.text);
  } catch (const std::bad_alloc&) {
    Fail("memory", "", 0, "out of memory");
  } catch (const std::exception& error) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status), std::free);
    Fail("exception", "", 0, std::string(name ? name.get() : typeid(error).name()) + ": " + error.what());
  } catch (...) {
    Fail("exception", "", 0, "an exception that is not a std::exception");
  }
  return false;
}

template<typename T, typename F>
std::vector<T> ListOf(FieldReader* in, F read) {
  std::vector<T> items;
  for (int64_t count = in->Int(); count > 0; --count) items.push_back(read());
  return items;
}

void ReadAttr(FieldReader* in, ::opkit::Attrs* attrs) {
  const std::string name = in->Text(), type = in->Text();
  const auto integer = [in] { return in->Int(); };
  const auto shape = [&] { return Shape(DimVector(ListOf<int64_t>(in, integer))); };
  if (type == "bool") return attrs->Add<bool>(name, type, in->Int() != 0);
  if (type == "int32") return attrs->Add<int32_t>(name, type, static_cast<int32_t>(in->Int()));
  if (type == "int64") return attrs->Add<int64_t>(name, type, in->Int());
  if (type == "float") return attrs->Add<float>(name, type, static_cast<float>(in->Real()));
  if (type == "double") return attrs->Add<double>(name, type, in->Real());
  if (type == "string") return attrs->Add<std::string>(name, type, in->Text());
  if (type == "shape") return attrs->Add<Shape>(name, type, shape());
  if (type == "data_type") return attrs->Add<DataType>(name, type, static_cast<DataType>(in->Int()));
  if (type == "list_int32") return attrs->Add(name, type, ListOf<int32_t>(in, integer));
  if (type == "list_int64") return attrs->Add(name, type, ListOf<int64_t>(in, integer));
  if (type == "list_float") return attrs->Add(name, type, ListOf<float>(in, [in] { return in->Real(); }));
  if (type == "list_string") return attrs->Add(name, type, ListOf<std::string>(in, [in] { return in->Text(); }));
  if (type == "list_shape") return attrs->Add(name, type, ListOf<Shape>(in, shape));
  if (type == "list_data_type") {
    return attrs->Add(name, type, ListOf<DataType>(in, [in] { return static_cast<DataType>(in->Int()); }));
  }
  throw std::runtime_error("opkit: attribute '" + name + "' has the unknown type " + type);
}

void ReadSignature(FieldReader* in, ::opkit::Signature* made) {
  made->op_type = in->Text();
  made->op_name = in->Text();
  made->device_tag = in->Text();
  made->device_sub_tag = in->Text();
  made->declared = ListOf<std::string>(in, [in] { return in->Text(); });
  for (auto* args : {&made->inputs, &made->outputs}) {
    for (int64_t count = in->Int(); count > 0; --count) {
      const std::string name = in->Text();
      args->emplace_back(name, static_cast<int32_t>(in->Int()));
      const auto type = static_cast<DataType>(in->Int());
      made->descs.emplace_back(Shape(DimVector(ListOf<int64_t>(in, [in] { return in->Int(); }))), type);
    }
  }
  for (int64_t count = in->Int(); count > 0; --count) ReadAttr(in, &made->attrs);
}

// A kernel that serves one op with given shapes, dtypes and attributes.
struct Plan {
  ::opkit::Signature signature;
  const Registration* registration = nullptr;
  std::unique_ptr<OpKernel> kernel;
  std::shared_ptr<OpKernelState> state;
  std::mutex state_lock;
  size_t temporary_size = 0;
  bool is_empty = false;
};

const Registration* Match(::opkit::Signature* signature) {
  const KernelRegContext context(signature);
  const Registration* found = nullptr;
  FieldWriter lacking;
  for (const Registration& item : Registrations()) {
    if (item.op_type != signature->op_type) continue;
    if (item.condition == nullptr || (*item.condition)(context)) {
      if (found != nullptr) {
        Fail("ambiguous", item.file, item.line,
             "two registrations match, the other in line " + std::to_string(found->line) + " of " + found->file);
        return nullptr;
      }
      found = &item;
      continue;
    }
    lacking.Text(item.file);
    lacking.Int(item.line);
    std::string text;
    std::vector<std::string> parts;
    item.condition->node().Lacking(context, &parts);
    for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
    lacking.Text(text);
  }
  if (found == nullptr) Fail("unmatched", "", 0, lacking.text_);
  return found;
}

bool Prepare(Plan* plan) {
  plan->registration = Match(&plan->signature);
  if (plan->registration == nullptr) return false;
  if (!plan->registration->create) {
    Fail("check", plan->registration->file, plan->registration->line, "the registration has no SetCreateFn");
    return false;
  }
  KernelCreateContext create(&plan->signature);
  plan->kernel.reset(plan->registration->create(&create));
  KernelInitContext init(&plan->signature);
  plan->state = plan->kernel->CreateOpKernelState(&init);
  if (plan->registration->temporary_size) {
    InferContext infer(&plan->signature);
    plan->temporary_size = plan->registration->temporary_size(&infer);
  }
  bool all_empty = !plan->signature.outputs.empty();
  for (size_t i = 0; i < plan->signature.outputs.size(); ++i) {
    const Shape& shape = plan->signature.descs[plan->signature.inputs.size() + i].shape();
    all_empty = all_empty && ShapeView(shape).elem_cnt() == 0;
  }
  plan->is_empty = all_empty && !plan->kernel->AlwaysComputeWhenAllOutputsEmpty();
  return true;
}

struct Buffer {
  explicit Buffer(size_t size) : data(size ? std::aligned_alloc(64, (size + 127) / 64 * 64) : nullptr) {
    if (size && data == nullptr) throw std::bad_alloc();
  }
  ~Buffer() { std::free(data); }
  void* data;
};

void Compute(Plan* plan, void* const* data) {
  if (plan->is_empty) return;
  ::opkit::Signature& signature = plan->signature;
  std::vector<Tensor> tensors;
  tensors.reserve(signature.descs.size());
  const size_t inputs = signature.inputs.size();
  for (size_t i = 0; i < signature.descs.size(); ++i) {
    const Arg& arg = i < inputs ? signature.inputs[i] : signature.outputs[i - inputs];
    tensors.emplace_back(arg.first, &signature.descs[i], data[i]);
  }
  const Buffer buffer(plan->temporary_size);
  if (plan->temporary_size == 0 && plan->state == nullptr) {
    KernelComputeContext context(&signature, &tensors, nullptr);
    return plan->kernel->Compute(&context, nullptr);
  }
  Tensor temporary("tmp_buffer", static_cast<int64_t>(plan->temporary_size), buffer.data);
  KernelComputeContext context(&signature, &tensors, plan->temporary_size ? &temporary : nullptr);
  if (plan->state == nullptr) return plan->kernel->Compute(&context, nullptr);
  const std::lock_guard<std::mutex> lock(plan->state_lock);
  plan->kernel->Compute(&context, plan->state.get());
}

size_t item_offset = 0, data_offset = 0;
}  // namespace
OPKIT_EXPORT int opkit_abi() { return 1; }
OPKIT_EXPORT const char* opkit_returned() { return returned.c_str(); }
OPKIT_EXPORT int64_t opkit_returned_size() { return static_cast<int64_t>(returned.size()); }
// Says where a tuple of Python holds its first item and an array of numpy the address of its data.
OPKIT_EXPORT void opkit_layout(int64_t of_items, int64_t of_data) {
  item_offset = static_cast<size_t>(of_items);
  data_offset = static_cast<size_t>(of_data);
}

// The address that opkit_call would use for the first array of a tuple.
OPKIT_EXPORT void* opkit_probe(const char* tuple) {
  const char* item = *reinterpret_cast<char* const*>(tuple + item_offset);
  return *reinterpret_cast<void* const*>(item + data_offset);
}

// Returns, by opkit_returned, the op type, file, line and condition of each registration.
OPKIT_EXPORT void opkit_registrations() {
  FieldWriter out;
  for (const Registration& item : Registrations()) {
    out.Text(item.op_type);
    out.Text(item.file);
    out.Int(item.line);
    out.Text(item.condition ? item.condition->node().Text(nullptr) : "always");
  }
  returned = out.text_;
}

// Makes the plan of a signature; null where that fails, with the reason in opkit_returned.
OPKIT_EXPORT void* opkit_prepare(const char* text) {
  auto plan = std::make_unique<Plan>();
  bool is_ready = false;
  const bool is_quiet = Guarded([&] {
    FieldReader reader(text);
    ReadSignature(&reader, &plan->signature);
    is_ready = Prepare(plan.get());
  });
  return is_quiet && is_ready ? plan.release() : nullptr;
}
OPKIT_EXPORT void opkit_release(void* plan) { delete static_cast<Plan*>(plan); }
// Returns, by opkit_returned, the file and line of the plan's registration and the pairs (output, input) whose memory may
// be one, as indices.
OPKIT_EXPORT int opkit_about(void* handle) {
  auto* plan = static_cast<Plan*>(handle);
  FieldWriter out;
  out.Text(plan->registration->file);
  out.Int(plan->registration->line);
  const bool is_quiet = Guarded([&] {
    if (!plan->registration->propose) return;
    const InferContext infer(&plan->signature);
    JUST(plan->registration->propose(
        infer, [&](const std::string& o, int32_t o_index, const std::string& i, int32_t i_index, bool) {
          const int output = plan->signature.Find(o, o_index), input = plan->signature.Find(i, i_index);
          CHECK_GE(output, static_cast<int>(plan->signature.inputs.size())) << o << " is not an output";
          CHECK_GE(input, 0) << i << " is not an argument";
          out.Int(output - static_cast<int64_t>(plan->signature.inputs.size()));
          out.Int(input);
          return Maybe<void>::Ok();
        }));
  });
  if (is_quiet) returned = out.text_;
  return is_quiet ? 0 : 1;
}

// Runs a plan on addresses: of the inputs, then of the outputs.
OPKIT_EXPORT int opkit_compute(void* plan, void* const* data) {
  return Guarded([&] { Compute(static_cast<Plan*>(plan), data); }) ? 0 : 1;
}

// Runs a plan on the arrays of a tuple: the inputs, then the outputs.
OPKIT_EXPORT int opkit_call(void* handle, const char* tuple) {
  auto* plan = static_cast<Plan*>(handle);
  constexpr size_t few = 16;
  void* addresses[few] = {};
  std::vector<void*> many;
  const size_t count = plan->signature.descs.size();
  if (count > few) many.resize(count);
  void** data = count > few ? many.data() : addresses;
  const char* const* items = reinterpret_cast<const char* const*>(tuple + item_offset);
  for (size_t i = 0; i < count; ++i) data[i] = *reinterpret_cast<void* const*>(items[i] + data_offset);
  return opkit_compute(handle, data);
}
