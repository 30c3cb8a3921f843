"""Library texts: the one table of what definitions may call, under every name that v0.3.4, v0.4.0 and v0.5.0 give it.

The module is long because it is one table: data only, which ``table`` reads.

Each line gives parameter types, the result, flags and the Python it becomes. Flags: ``@any``, ``@in``, ``@out`` (the
first argument names an argument of the op), ``@query`` (asks whether there is one), ``small`` (a small integer that is
not negative). ``{0}`` is the object; ``|`` separates a pointer's code from the code of what it points at; ``T``, ``K``
and ``V`` are type arguments of the object; ``&`` after a result means that it refers to what is stored.
"""

from __future__ import annotations

_CONF = """
input(str, i32) -> str @in = {0}.input({1}, {2})
output(str, i32) -> str @out = {0}.output({1}, {2})
has_input(str, i32) -> bool @query = {0}.has_input({1}, {2})
has_output(str, i32) -> bool @query = {0}.has_output({1}, {2})
input_size(str) -> i32 @query small = {0}.input_size({1})
output_size(str) -> i32 @query small = {0}.output_size({1})
op_name() -> str = {0}.op_name
op_type_name() -> str = {0}.op_type
"""


_VIA_CONF = "\n".join(line.replace("= {0}.", "= {0}.conf.") for line in _CONF.strip().splitlines())


_ARGS = """
inputs() -> vector<pair<str,i32>>& = {0}.inputs
outputs() -> vector<pair<str,i32>>& = {0}.outputs
"""


_SHAPE_READ = """
NumAxes() -> i64 small = len({0}.dims)
At(i64) -> i64 = {0}.at({1})
elem_cnt() -> i64 = {0}.elements()
Count(i64) -> i64 = {0}.count({1})
Count(i64, i64) -> i64 = {0}.count({1}, {2})
ToString() -> str = str({0})
DebugStr() -> str = str({0})
"""


_MAP = """
size() -> size small = len({0})
empty() -> bool = (not {0})
clear() -> void = {0}.clear()
begin() -> mapiter<K,V> = {0}.begin()
end() -> mapiter<K,V> = {0}.end()
cbegin() -> mapiter<K,V> = {0}.begin()
cend() -> mapiter<K,V> = {0}.end()
find(K) -> mapiter<K,V> = {0}.find({1})
count(K) -> size small = ({1} in {0})
reserve(size) -> void = None
"""


METHOD_TEXTS: dict[str, str] = {
    "Shape": _SHAPE_READ
    + """
dim_vec() -> dims& = {0}.dims
Set(i64, i64) -> void = {0}.set({1}, {2})
RemoveOnes(dims) -> Shape = remove_ones({0}, {1})
Axes4BroadcastTo(Shape) -> dims = axes_for_broadcast_to({0}, {1})
dim_size() -> i32 small = len({0}.dims)
dim(i32) -> i64 = {0}.at({1})
""",
    "ShapeView": _SHAPE_READ
    + """
""",
    "TensorDesc": """
shape() -> Shape& = {0}.shape
mut_shape() -> Shape* = {0}.shape
data_type() -> dtype = {0}.dtype
mut_data_type() -> dtype* = field_pointer({0}, "dtype") | {0}.dtype
set_data_type(dtype) -> void = setattr({0}, "dtype", {1})
is_dynamic() -> bool = {0}.is_dynamic
mut_is_dynamic() -> bool* = field_pointer({0}, "is_dynamic") | {0}.is_dynamic
set_is_dynamic(bool) -> void = setattr({0}, "is_dynamic", {1})
is_tensor_list() -> bool = False
mut_is_tensor_list() -> bool* = Cell(False)
set_is_tensor_list(bool) -> void = None
""",
    "InferContext": _VIA_CONF
    + _ARGS
    + """
TensorDesc4ArgNameAndIndex(str, i32) -> TensorDesc* @any = {0}.desc(({1}, {2}))
OutputTensorDesc(str, i32) -> TensorDesc* @any = {0}.desc(({1}, {2}))
InputTensorDesc(str, i32) -> TensorDesc& @any = {0}.need({1}, {2})
LogicalTensorDesc4ArgNameAndIndex(str, i32) -> TensorDesc* @any = {0}.logical_desc({1}, {2})
Shape4ArgNameAndIndex(str, i32) -> Shape* @any = {0}.shape_pointer({1}, {2}) | {0}.desc(({1}, {2})).shape
OutputShape(str, i32) -> Shape* @any = {0}.shape_pointer({1}, {2}) | {0}.desc(({1}, {2})).shape
InputShape(str, i32) -> Shape& @any = {0}.need({1}, {2}).shape
Dtype4ArgNameAndIndex(str, i32) -> dtype* @any = {0}.field({1}, {2}, "dtype") | {0}.desc(({1}, {2})).dtype
OutputDType(str, i32) -> dtype* @any = {0}.field({1}, {2}, "dtype") | {0}.desc(({1}, {2})).dtype
InputDType(str, i32) -> dtype @any = {0}.need({1}, {2}).dtype
IsDynamic4ArgNameAndIndex(str, i32) -> bool* @any = {0}.field({1}, {2}, "is_dynamic") | {0}.desc(({1}, {2})).is_dynamic
OutputIsDynamic(str, i32) -> bool* @any = {0}.field({1}, {2}, "is_dynamic") | {0}.desc(({1}, {2})).is_dynamic
InputIsDynamic(str, i32) -> bool @any = {0}.need({1}, {2}).is_dynamic
IsTensorList4ArgNameAndIndex(str, i32) -> bool* @any = Cell(False)
SbpParallel4ArgNameAndIndex(str, i32) -> SbpParallel& @any = {0}.sbp({1}, {2})
ParallelDistribution4ArgNameAndIndex(str, i32) -> ParallelDistribution& @any = {0}.distribution({1}, {2})
NdSbp4ArgNameAndIndex(str, i32) -> ParallelDistribution& @any = {0}.distribution({1}, {2})
parallel_ctx() -> ParallelContext& = {0}.parallel
parallel_desc() -> ParallelDesc& = {0}.parallel
parallel_num() -> i64 small = {0}.parallel.num
user_op_conf() -> OpConf& = {0}.conf
device_tag() -> str = "cpu"
""",
    "SbpContext": _ARGS
    + """
NewBuilder() -> SbpBuilder = {0}.builder()
LogicalTensorDesc4InputArgNameAndIndex(str, i32) -> TensorDesc& @in = {0}.desc({1}, {2})
parallel_num() -> i64 small = {0}.parallel_num
device_type() -> DeviceType = {0}.device_type
user_op_conf() -> OpConf& = {0}.conf
""",
    "SbpBuilder": """
Split(OpArg, i64) -> SbpBuilder& @arg = {0}.split({1}, {2}, {at})
Split(vector<OpArg>, i64) -> SbpBuilder& = {0}.split_all({1}, {2}, {at})
Split(vector<pair<str,i32>>, i64) -> SbpBuilder& = {0}.split_all({1}, {2}, {at})
Broadcast(OpArg) -> SbpBuilder& @arg = {0}.broadcast({1}, {at})
Broadcast(vector<OpArg>) -> SbpBuilder& = {0}.broadcast_all({1}, {at})
Broadcast(vector<pair<str,i32>>) -> SbpBuilder& = {0}.broadcast_all({1}, {at})
PartialSum(OpArg) -> SbpBuilder& @arg = {0}.partial({1}, {at})
PartialSum(vector<OpArg>) -> SbpBuilder& = {0}.partial_all({1}, {at})
PartialSum(vector<pair<str,i32>>) -> SbpBuilder& = {0}.partial_all({1}, {at})
Build() -> void = {0}.build({at})
""",
    "SbpParallel": """
has_split_parallel() -> bool = ({0}.kind == "S")
has_broadcast_parallel() -> bool = ({0}.kind == "B")
has_partial_sum_parallel() -> bool = ({0}.kind == "P")
split_parallel() -> SplitParallel& = {0}
mutable_split_parallel() -> SplitParallel* = {0}.become("S")
mutable_broadcast_parallel() -> BroadcastParallel* = {0}.become("B")
mutable_partial_sum_parallel() -> PartialSumParallel* = {0}.become("P")
CopyFrom(SbpParallel) -> void = {0}.assign({1})
DebugString() -> str = str({0})
""",
    "SplitParallel": """
axis() -> i64 = {0}.axis
set_axis(i64) -> void = {0}.set_axis({1})
""",
    "ParallelDistribution": """
sbp_parallel(i32) -> SbpParallel& = {0}.at({1})
mutable_sbp_parallel(i32) -> SbpParallel* = {0}.at({1})
sbp_parallel_size() -> i32 small = len({0}.parts)
sbp_parallel() -> vector<SbpParallel>& = {0}.parts
add_sbp_parallel() -> SbpParallel* = {0}.add()
clear_sbp_parallel() -> void = {0}.clear()
mutable_sbp_parallel() -> ParallelDistribution* = {0}
Add() -> SbpParallel* = {0}.add()
InitFromProto(ParallelDistribution) -> void = {0}.assign({1})
CopyFrom(ParallelDistribution) -> void = {0}.assign({1})
""",
    "OpConf": _CONF
    + """
op_conf() -> OpConf& = {0}
user_op_conf() -> OpConf& = {0}
""",
    "OpDef": """
name() -> str = {0}.name
""",
    "FwOp": _VIA_CONF
    + """
user_op_conf() -> OpConf& = {0}.conf
op_conf() -> OpConf& = {0}.conf
output_grad(str, i32) -> str @grad = {0}.grad({1}, {2})
GetGradTensorWithOpOutput(str, i32) -> str @grad = {0}.grad({1}, {2})
NeedGenGradTensor4OpInput(str, i32) -> bool @in = {0}.needs({1}, {2})
HasGradTensor4OpOutput(str, i32) -> bool @grad = {0}.has_grad({1}, {2})
BindGradTensorWithOpInput(str, str, i32) -> void @bind = {0}.bind({1}, {2}, {3})
InputGradBind(OpArg, function<str>) -> void @bindarg = {0}.bind_with({1}, {2})
arg_tensor_desc(str, i32) -> TensorDesc& @any = {0}.desc({1}, {2})
TensorDesc4ArgNameAndIndex(str, i32) -> TensorDesc& @any = {0}.desc({1}, {2})
""",
    "OpBuilder": """
Op(str) -> OpBuilder& @bwtype = {0}.op({1})
OpTypeName(str) -> OpBuilder& @bwtype = {0}.op({1})
Input(str, str) -> OpBuilder& @bwin = {0}.input({1}, {2})
InputBind(str, str) -> OpBuilder& @bwin = {0}.input({1}, {2})
Output(str) -> OpBuilder& @bwout = {0}.output({1})
Output(str, i32) -> OpBuilder& @bwout = {0}.output({1}, {2})
Build() -> OpConf = {0}.build()
""",
    "GradContext": """
FwOp() -> FwOp& = {0}.fw
GetOp(str) -> OpConf& = {0}.get({1})
DefineOp(str, function<OpConf,OpBuilder>) -> void = {0}.define({1}, {2})
""",
    "InputArgModifier": """
set_requires_grad(bool) -> void = {0}.set("requires_grad", {1})
set_is_mutable(bool) -> void = {0}.set("is_mutable", {1})
""",
    "ParallelContext": """
parallel_num() -> i64 small = {0}.num
parallel_id() -> i64 small = {0}.id
""",
    "ParallelDesc": """
parallel_num() -> i64 small = {0}.num
hierarchy() -> Shape* = {0}.hierarchy
""",
    "OpArg": """
name() -> str = {0}[0]
index() -> i32 = {0}[1]
""",
    "BalancedSplitter": """
At(i64) -> Range = {0}.at({1})
""",
    "Range": """
begin() -> i64 = {0}[0]
end() -> i64 = {0}[1]
size() -> i64 = ({0}[1] - {0}[0])
""",
    "Params3D": """
GetYShape() -> Shape = {0}.y_shape()
GetXShape5D() -> Shape = {0}.shape_5d(False)
GetYShape5D() -> Shape = {0}.shape_5d(True)
pool_size_3d() -> vector<i32>& = {0}.size
strides_3d() -> vector<i32>& = {0}.strides
padding_before_3d() -> vector<i32>& = {0}.padding_before
padding_after_3d() -> vector<i32>& = {0}.padding_after
""",
    "vector": """
size() -> size small = len({0})
empty() -> bool = (not {0})
at(size) -> T& = at({0}, {1})
front() -> T& = front({0})
back() -> T& = back({0})
push_back(T) -> void = push({0}, {1})
pop_back() -> void = pop({0})
clear() -> void = {0}.clear()
reserve(size) -> void = None
begin() -> iter<T> = Iterator({0}, 0)
end() -> iter<T> = Iterator({0}, len({0}))
cbegin() -> iter<T> = Iterator({0}, 0)
cend() -> iter<T> = Iterator({0}, len({0}))
rbegin() -> iter<T> = ReverseIterator({0}, len({0}) - 1)
rend() -> iter<T> = ReverseIterator({0}, -1)
data() -> iter<T> = Iterator({0}, 0)
insert(iter<T>, T) -> iter<T> = insert({0}, {1}, [{2}])
insert(iter<T>, vector<T>) -> iter<T> = insert({0}, {1}, {2})
insert(iter<T>, size, T) -> iter<T> = insert({0}, {1}, filled({2}, {3}))
insert(iter<T>, iter<any>, iter<any>) -> iter<T> = insert({0}, {1}, between({2}, {3}))
erase(iter<T>) -> iter<T> = erase({0}, {1})
erase(iter<T>, iter<T>) -> iter<T> = erase({0}, {1}, {2})
assign(iter<any>, iter<any>) -> void = assign({0}, between({1}, {2}))
assign(size, T) -> void = assign({0}, filled({1}, {2}))
size_type() -> size = 0
Get(i32) -> T& = at({0}, {1})
swap(vector<T>) -> void = swap({0}, {1})
""",
    "map": _MAP
    + """
at(K) -> V& = {0}.at({1})
emplace(K, V) -> pair<mapiter<K,V>,bool> = {0}.insert_pair({1}, {2})
insert(pair<K,V>) -> pair<mapiter<K,V>,bool> = {0}.insert_pair(*{1})
erase(K) -> size = {0}.erase({1})
erase(mapiter<K,V>) -> size = {0}.erase({1})
""",
    "set": _MAP
    + """
insert(K) -> pair<mapiter<K,V>,bool> = {0}.insert_pair({1})
emplace(K) -> pair<mapiter<K,V>,bool> = {0}.insert_pair({1})
erase(K) -> size = {0}.erase({1})
erase(mapiter<K,V>) -> size = {0}.erase({1})
""",
    "string": """
size() -> size small = len({0})
length() -> size small = len({0})
empty() -> bool = (not {0})
c_str() -> str = {0}
substr(size) -> str = substr({0}, {1})
substr(size, size) -> str = substr({0}, {1}, {2})
find(str) -> size = string_find({0}, {1})
at(size) -> char = char_at({0}, {1})
back() -> char = char_at({0}, len({0}) - 1)
front() -> char = char_at({0}, 0)
compare(str) -> i32 = string_compare({0}, {1})
compare(size, size, str) -> i32 = compare_part({0}, {1}, {2}, {3})
rfind(str) -> size = string_rfind({0}, {1})
""",
    "stringstream": """
str() -> str = {0}.str()
""",
    "Error": """
error_proto() -> Error* = {0}
mutable_check_failed_error() -> Error* = {0}
mutable_unimplemented_error() -> Error* = {0}
set_msg(str) -> void = {0}.put({1})
""",
}


FREE_TEXT = """
ShiftNegativeAxis(i64, i64) -> i64 = shift_negative_axis({0}, {1})
CreateReducedShape(ShapeView, dims) -> Shape = create_reduced_shape({0}, {1})
CreateLeftExtendedShape(ShapeView, i32) -> Shape = create_left_extended_shape({0}, {1})
CalcOutAndPadding(i64, i32, i32, i32, str, i64*, i32*, i32*) -> void = calc_out_and_padding({all})
CalcSamePadding(i64, i32, i32, i32, i32*, i32*) -> void = calc_same_padding({all})
CalcConvOut(i64, i32, i32, i32, i32, i64*) -> void = calc_conv_out({all})
GetWindowedOutputSize(i64, i32, i32, str, i64*, i32*, i32*) -> void = \
calc_out_and_padding({0}, {1}, 1, {2}, {3}, {4}, {5}, {6})
GetWindowedOutputSize(i64, i32, i32, str, i64*, i32*) -> void = \
calc_out_and_padding({0}, {1}, 1, {2}, {3}, {4}, {5}, None)
GetWindowedOutputSize(i64, i32, i32, i32, str, i64*, i32*, i32*) -> void = calc_out_and_padding({all})
GetWindowedOutputSize(i64, i32, i32, i32, str, bool, i64*, i32*, i32*) -> void = windowed_ceil({all})
IdxOffset(str) -> size small = index_offset({0})
DhwOffset(str) -> size small = index_offset({0})
ChannelIdx(str, i32) -> i32 = channel_index({0}, {1})
GetInDim(ShapeView, str, i32, i32) -> i64 = in_dim({all})
RegulateSliceStart(i64, i64) -> i64 = regulate_slice_start({0}, {1})
RegulateSliceStop(i64, i64) -> i64 = regulate_slice_stop({0}, {1})
RoundUp(size, size) -> size = round_up({0}, {1})
GetPhysicalShape(Shape, ParallelDistribution, ParallelDesc, ParallelContext) -> maybe<Shape> = physical_shape({all})
IsIndexDataType(dtype) -> bool = is_index_dtype({0})
IsIntegralDataType(dtype) -> bool = is_integral_dtype({0})
IsFloatingDataType(dtype) -> bool = is_floating_dtype({0})
IsPODDataType(dtype) -> bool = is_pod_dtype({0})
std::stoi(str) -> i32 = parse_int({0}, 32)
std::stol(str) -> i64 = parse_int({0}, 64)
std::stoll(str) -> i64 = parse_int({0}, 64)
GenRepeatedBn(str, i32) -> str = f"{{{0}}}_{{{1}}}"
ParseSbpParallelFromString(str, SbpParallel*) -> bool = parse_sbp({0}, {1})
IsValidSbpParallelString(str) -> bool = is_sbp_text({0})
SbpParallelToString(SbpParallel) -> str = str({0})
CheckInterpolationValid(str, stringstream) -> bool = is_interpolation({0}, {1})
"""


STATIC_TEXT = """
ImageUtil::IsColor(str) -> bool = is_color({0})
Shape::Ones(i64) -> Shape = ones_shape({0})
TensorDescInferFnUtil::Unchanged(InferContext*) -> maybe<void> = unchanged({0})
TensorDescInferFnUtil::UnchangedDataType(InferContext*) -> maybe<void> = unchanged_dtype({0})
TensorDescInferFnUtil::InOutCorrespond(InferContext*) -> maybe<void> = in_out_correspond({0})
CheckAttrFnUtil::NoCheck(OpDef, OpConf) -> maybe<void> = nothing({0}, {1})
GetSbpFnUtil::DefaultBroadcastToBroadcast(SbpContext*) -> maybe<void> = nothing({0})
GetSbpFnUtil::SplitForEachAxis(SbpContext*) -> maybe<void> = split_for_each_axis({0})
ReduceSbpUtil::MakePredicatorIsReducedAxis(set<i32>, i32) -> function<bool,i32> = is_reduced_axis({0}, {1})
ReduceSbpUtil::MakePredicatorIsReducedAxis(vector<i32>, i32) -> function<bool,i32> = is_reduced_axis({0}, {1})
ReduceSbpUtil::GetRegularAxes(i64, vector<i32>, ptr<set<i32>>) -> void = regular_axes({0}, {1}, {2})
ReshapeUserOpUtil::GetLogicalOutBlobShape(Shape, Shape) -> maybe<Shape> = reshaped({0}, {1})
ReshapeUserOpUtil::Squeeze(Shape, Shape*, ptr<map<i32,i32>>) -> maybe<void> = squeeze({all})
ReshapeUserOpUtil::GetGroupStartInAxis2OutAxis(Shape, Shape, i64, ptr<map<i32,i32>>) -> maybe<void> = \
group_start_axes({all})
ReshapeUserOpUtil::GetReshapeUserOpSbpSignatures(Shape, Shape, vector<OpArg>, vector<OpArg>, i64, SbpBuilder*) \
-> maybe<void> = \
reshape_signatures({all})
ReshapeUserOpUtil::GetReshapeUserOpSbpSignatures(Shape, Shape, vector<OpArg>, vector<OpArg>, SbpContext*) \
-> maybe<void> = \
reshape_signatures({0}, {1}, {2}, {3}, {4}.parallel_num, {4}.builder())
"""
