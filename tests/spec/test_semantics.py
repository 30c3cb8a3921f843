"""C++ where it shows: each row is C++ and the sizes that g++ gives for it."""

from __future__ import annotations

import pytest

from opkit.errors import InferError
from tests.spec.texts import compiled, f32, op, shape_of

#: (what is stated, expression, statements before it, attributes, sizes)
ROWS: list[tuple[str, str, str, dict[str, object], tuple[int, ...]]] = [
    ("division truncates towards zero", "a / b, -a / b, a % b, -a % b", "", {"a": 7, "b": -2}, (-3, 3, 1, -1)),
    ("int8_t keeps the low bits", "i", "int8_t i = a;", {"a": 200}, (-56,)),
    ("uint8_t wraps", "u", "uint8_t u = a;\nu += 1;", {"a": 255}, (0,)),
    (
        "small integers are promoted",
        "p + q, r",
        "const uint8_t p = 200, q = 100;\nconst uint8_t r = p + q;",
        {},
        (300, 44),
    ),
    (
        "unsigned subtraction wraps",
        "n > 1000, static_cast<int64_t>(n % 10)",
        "size_t n = v.size();\nn -= 5;",
        {},
        (1, 4),
    ),
    ("signed compares with unsigned as unsigned", "static_cast<int32_t>(b) < v.size()", "", {"b": -2}, (0,)),
    (
        "signed division by unsigned is unsigned",
        "i / u",
        "const int32_t i = -7;\nconst uint32_t u = 2;",
        {},
        (2147483644,),
    ),
    ("int64_t arithmetic wraps", "a + 1 < 0", "", {"a": 9223372036854775807}, (1,)),
    ("shifts and masks", "(a << 3) | 1, (a & 6) >> 1, a ^ 5, ~b", "", {"a": 7, "b": -2}, (57, 3, 2, 1)),
    (
        "octal, hexadecimal, characters and long literals",
        "010, 0x1F, 'A' + 1, 1LL << 33",
        "",
        {},
        (8, 31, 66, 8589934592),
    ),
    (
        "increments have a value",
        "p, q, n",
        "int64_t n = a;\nconst int64_t p = n++;\nconst int64_t q = ++n;",
        {"a": 1},
        (1, 3, 3),
    ),
    ("bool counts as 0 or 1", "a > 3, !(a > 3), true + true", "", {"a": 7}, (1, 0, 2)),
    (
        "float is 32 bits wide",
        "big, f == 0.1, f == 0.1f",
        "float big = 16777216;\nbig += 1;\nconst float f = 0.1;",
        {},
        (16777216, 0, 1),
    ),
    ("integers meet floats", "static_cast<int64_t>(a / 2.0 * 10), static_cast<int64_t>(-2.7)", "", {"a": 7}, (35, -2)),
    (
        "std::min and std::max",
        "std::min(a, b), std::max<int64_t>(a, 3), std::max({a, b, a * 2})",
        "",
        {"a": 7, "b": 2},
        (2, 7, 14),
    ),
    (
        "numeric limits",
        "std::numeric_limits<int32_t>::max(), std::numeric_limits<int64_t>::min() + 1",
        "",
        {},
        (2147483647, -9223372036854775807),
    ),
    ("conditions choose", "a > 0 ? (b > 0 ? 1 : 2) : 3", "", {"a": 1, "b": -1}, (2,)),
    (
        "&& and || stop early",
        "n, v.size() > 10 && v[10] == 3",
        "int64_t n = 0;\nauto bump = [&n](bool r) {\n  n += 1;\n  return r;\n};\nconst bool p = bump(false) && bump(true);",
        {},
        (1, 0),
    ),
    (
        "a Shape& is the Shape, a Shape is a copy",
        "y->At(0), copy.At(0), seen.At(0)",
        'Shape* y = ctx->Shape4ArgNameAndIndex("y", 0);\n*y = x;\nconst Shape& seen = *y;\nShape copy = *y;\ny->Set(0, 9);',
        {},
        (9, 2, 9),
    ),
    (
        "a DimVector& follows, a DimVector is a copy",
        "dims.at(0), copy.at(0)",
        'Shape* y = ctx->Shape4ArgNameAndIndex("y", 0);\n*y = x;\nconst DimVector& dims = y->dim_vec();\n'
        "DimVector copy = y->dim_vec();\ny->Set(0, 9);",
        {},
        (9, 2),
    ),
    (
        "auto& refers to an element",
        "d.at(0), d.at(1)",
        "DimVector d = {1, 2};\nauto& first = d[0];\nfirst = 5;\nauto second = d[1];\nsecond = 7;",
        {},
        (5, 2),
    ),
    (
        "elements are changed through a loop's reference",
        "d[0], d[1]",
        "std::vector<int64_t> d = {1, 2};\nfor (auto& e : d) { e *= 10; }",
        {},
        (10, 20),
    ),
    (
        "a loop's value is a copy",
        "d[0], d[1]",
        "std::vector<int64_t> d = {1, 2};\nfor (auto e : d) { e *= 10; }",
        {},
        (1, 2),
    ),
    (
        "capture by value keeps the old value, by reference sees the new",
        "by_value(), by_ref()",
        "int64_t n = a;\nauto by_value = [n]() { return n; };\nauto by_ref = [&n]() { return n; };\nn = 100;",
        {"a": 1},
        (1, 100),
    ),
    (
        "a mutable lambda keeps its own copy",
        "second, calls",
        "int64_t calls = 0;\nauto counter = [calls]() mutable { return ++calls; };\ncounter();\nconst int64_t second = counter();",
        {},
        (2, 0),
    ),
    (
        "a lambda may call itself through std::function",
        "fact(5)",
        "std::function<int64_t(int64_t)> fact = [&fact](int64_t k) -> int64_t { return k <= 1 ? 1 : k * fact(k - 1); };",
        {},
        (120,),
    ),
    (
        "vectors insert and erase",
        "d.size(), d[0], d[1], d.back()",
        "std::vector<int64_t> d = {4};\nd.insert(d.begin(), 7);\nd.insert(d.end(), {8, 9});\nd.erase(d.begin() + 1);",
        {},
        (3, 7, 8, 9),
    ),
    (
        "vectors are filled, resized and assigned",
        "d.size(), d[2], e[1]",
        "std::vector<int64_t> d(2, 5);\nd.resize(4);\nDimVector e;\ne.assign(d.begin(), d.end());",
        {},
        (4, 0, 5),
    ),
    (
        "iota, remove, find, sort, accumulate",
        "d.size(), at, total, d[0]",
        "std::vector<int64_t> d(5);\nstd::iota(d.begin(), d.end(), 1);\nd.erase(std::remove(d.begin(), d.end(), 3), d.end());\n"
        "const int64_t at = std::find(d.begin(), d.end(), 4) - d.begin();\n"
        "std::sort(d.begin(), d.end(), [](int64_t p, int64_t q) { return p > q; });\n"
        "const int64_t total = std::accumulate(d.begin(), d.end(), static_cast<int64_t>(0));",
        {},
        (4, 2, 12, 5),
    ),
    (
        "predicates",
        "all, any, n",
        "const bool all = std::all_of(v.begin(), v.end(), [](int32_t e) { return e > 0; });\n"
        "const bool any = std::any_of(v.begin(), v.end(), [&](int32_t e) { return e == a; });\n"
        "const int64_t n = std::count_if(v.begin(), v.end(), [](int32_t e) { return e % 2 == 1; });",
        {},
        (1, 0, 2),
    ),
    (
        "std::map is ordered by key",
        "code",
        'std::map<std::string, int64_t> m = {{"b", 2}, {"a", 1}};\nm["c"] = 3;\nm["a"] += 6;\n'
        "int64_t code = 0;\nfor (const auto& kv : m) { code = code * 10 + kv.second; }",
        {},
        (723,),
    ),
    (
        "HashMap is iterated as libstdc++ does: the last inserted first",
        "code",
        "HashMap<int, int> m;\nFOR_RANGE(int, i, 1, 4) { m[i] = i; }\nint64_t code = 0;\nfor (const auto& kv : m) { code = code * 10 + kv.first; }",
        {},
        (321,),
    ),
    (
        "HashSet knows its members",
        "set.size(), set.find(3) != set.end(), set.count(9)",
        "HashSet<int32_t> set = {v.begin(), v.end()};",
        {},
        (3, 1, 0),
    ),
    (
        "strings join, compare and count",
        't.size(), s == "abc", s < "b", s.find("c")',
        'std::string t = s + "_" + std::to_string(a);',
        {"a": 10},
        (6, 1, 1, 2),
    ),
    (
        "strings change in place",
        "t.size(), t.back() == 'y', t.rfind(\"b\"), n + 1",
        'std::string t = s;\nt.push_back(\'x\');\nt.append("yy");\nt.pop_back();\nconst int64_t n = std::stoi("41");',
        {},
        (5, 1, 1, 42),
    ),
    (
        "arrays count like vectors",
        "sum, p.at(1), p.size()",
        "const int64_t t[3] = {1, 2, 3};\nint64_t sum = 0;\nfor (int64_t e : t) { sum += e; }\nstd::array<int64_t, 2> p = {{4, 5}};\np[1] += 1;",
        {},
        (6, 6, 2),
    ),
    (
        "reverse iterators, swap and back_inserter",
        "code, d[0], d.size()",
        "int64_t code = 0;\nfor (auto it = v.rbegin(); it != v.rend(); ++it) { code = code * 10 + *it; }\n"
        "std::vector<int64_t> c = {1, 2}, d;\nstd::swap(c[0], c[1]);\nstd::copy(c.begin(), c.end(), std::back_inserter(d));",
        {},
        (213, 2, 2),
    ),
    (
        "pointers own with make_shared and new",
        "p->At(0), q->size()",
        "std::shared_ptr<Shape> p = std::make_shared<Shape>(x);\np->Set(0, 42);\nstd::unique_ptr<std::vector<int64_t>> q(new std::vector<int64_t>{1, 2});",
        {},
        (42, 2),
    ),
    (
        "streams collect",
        "ss.str().size()",
        'std::stringstream ss;\nss << "n=" << a << "," << true << "," << 1.5;',
        {"a": 10},
        (10,),
    ),
    (
        "while, do and for with break and continue",
        "n, k, found",
        "int64_t n = 6, k = 0, found = -1;\nwhile (n > 1) { n = n % 2 == 0 ? n / 2 : 3 * n + 1; }\ndo { k += 3; } while (k < 10);\n"
        "for (int64_t i = 0;; ++i) {\n  if (i % 2) { continue; }\n  if (i * i > 50) {\n    found = i;\n    break;\n  }\n}",
        {},
        (1, 12, 8),
    ),
    (
        "a loop may change its counter",
        "n",
        "int64_t n = 0;\nFOR_RANGE(int64_t, i, 0, 10) {\n  n += 1;\n  i += 1;\n}",
        {},
        (5,),
    ),
    (
        "FOR_RANGE of an unsigned type takes the bounds as unsigned",
        "n",
        "int64_t n = 0;\nFOR_RANGE(uint8_t, i, 254, 256) { n += 1; }",
        {},
        (0,),
    ),
    (
        "switch falls through",
        "r",
        "int64_t r = 0;\nswitch (a) {\n  case 1: r = 10; break;\n  case 2:\n  case 3: r = 20;\n  case 4: r += 1; break;\n  default: r = -1;\n}",
        {"a": 3},
        (21,),
    ),
    (
        "names of an inner block hide outer ones",
        "n",
        "int64_t n = a;\n{\n  int64_t n = 50;\n  n += 1;\n}\nfor (int64_t n = 0; n < 3; ++n) {}",
        {"a": 4},
        (4,),
    ),
    ("Python's words are fine as names", "in, lambda, def", "int64_t in = 1, lambda = 2, def = 3;", {}, (1, 2, 3)),
    ("an empty Shape has no elements", "Shape().elem_cnt(), Shape({2, 3}).elem_cnt()", "", {}, (0, 6)),
]


@pytest.mark.parametrize(("fact", "expression", "statements", "attrs", "sizes"), ROWS, ids=[row[0] for row in ROWS])
def test_c_plus_plus(
    fact: str, expression: str, statements: str, attrs: dict[str, object], sizes: tuple[int, ...]
) -> None:
    """The compiled function gives what the C++ gives."""
    assert shape_of(expression, statements=statements, attrs=attrs) == sizes


HELPERS = """
namespace {
constexpr int64_t kLimit = 12;
const std::vector<int64_t> kTable = {5, 6, 7};
enum Mode { kSmall = 1, kMedium, kLarge = 10 };
int64_t Twice(int64_t n) { return 2 * n; }
int64_t Twice(const std::string& t) { return 20 * t.size(); }
int64_t AddAll(int64_t n, int64_t m = 10) { return n + m; }
void Swap(int64_t* p, int64_t* q) {
  const int64_t t = *p;
  *p = *q;
  *q = t;
}
void AddOne(int64_t& n) { n += 1; }
void Leave(int64_t n) { n += 1; }
std::vector<int64_t> Push(std::vector<int64_t> d, int64_t e) {
  d.push_back(e);
  return d;
}
void PushTo(std::vector<int64_t>* d, int64_t e) { d->push_back(e); }
template<typename T>
T Square(T n) { return n * n; }
template<int N>
int64_t Power(int64_t n) {
  int64_t r = 1;
  for (int i = 0; i < N; ++i) { r *= n; }
  return r;
}
template<typename T> struct TagA {};
template<typename T> struct TagB {};
template<template<typename> class Tag>
int64_t Score() { return 1; }
template<>
int64_t Score<TagB>() { return 2; }
template<int N>
struct Fixed {
  static int64_t Get() { return N; }
};
struct Window {
  int64_t size = 3;
  int64_t stride = 1;
  std::vector<int64_t> seen;
  int64_t Out(int64_t n) const { return (n - size) / stride + 1; }
  void Grow(int64_t by) {
    size += by;
    seen.push_back(Out(by));
  }
};
class Counter {
 public:
  explicit Counter(int64_t start) : count_(start) {}
  Counter(int64_t start, int64_t more) : count_(start + more) {}
  int64_t Next() {
    count_ += 1;
    return count_;
  }
  static int64_t Ten() { return 10; }

 private:
  int64_t count_;
};
template<typename T, typename U>
auto Sum(T t, U u) -> decltype(t + u) { return t + u; }
Maybe<int64_t> Positive(int64_t n) {
  CHECK_GT_OR_RETURN(n, 0) << "n is " << n;
  return n;
}
Maybe<Shape> Doubled(const Shape& shape) {
  DimVector d;
  for (int64_t size : shape.dim_vec()) { d.push_back(JUST(Positive(size)) * 2); }
  return Shape(d);
}
std::function<int64_t(int64_t)> Adder(int64_t n) {
  return [n](int64_t m) -> int64_t { return n + m; };
}
}  // namespace
"""
HELPER_ROWS: list[tuple[str, str, str, tuple[int, ...]]] = [
    ("overloads are chosen by type", 'Twice(4), Twice("four")', "", (8, 80)),
    ("default arguments", "AddAll(1), AddAll(1, 2)", "", (11, 3)),
    (
        "pointers and references change, values do not",
        "p, q",
        "int64_t p = 1, q = 20;\nSwap(&p, &q);\nAddOne(p);\nLeave(q);",
        (21, 1),
    ),
    (
        "vectors are passed by value and by pointer",
        "d.size(), e.size()",
        "std::vector<int64_t> d = {1};\nconst auto e = Push(d, 2);\nPushTo(&d, 3);\nPushTo(&d, 4);",
        (3, 2),
    ),
    ("function templates deduce and take arguments", "Square(a), Square<int64_t>(3), Power<3>(2)", "", (49, 9, 8)),
    ("templates of templates and their specialisations", "Score<TagA>(), Score<TagB>()", "", (1, 2)),
    ("static functions of struct templates", "Fixed<4>::Get(), Fixed<5>::Get()", "", (4, 5)),
    ("constants, tables and enumerators", "kLimit, kTable.at(1), kMedium, kLarge, Mode::kSmall", "", (12, 6, 2, 10, 1)),
    ("JUST hands values on", "JUST(Positive(5)), JUST(Doubled(x))->At(1)", "", (5, 6)),
    (
        "structs have fields and functions, and are copied",
        "w.Out(11), c.Out(11), w.size, c.size, w.seen.size()",
        "Window w;\nw.stride = 2;\nWindow c = w;\nc.Grow(1);",
        (5, 4, 3, 4, 0),
    ),
    ("structs are made in braces", "w.size, w.stride", "Window w = {5, 2};", (5, 2)),
    (
        "classes have constructors and static functions",
        "c.Next(), r.Next(), c.Next(), d.Next(), Counter::Ten()",
        "Counter c(3), d(3, 4);\nCounter& r = c;",
        (4, 5, 6, 8, 10),
    ),
    ("a result type may be deduced", "Sum(1, a), static_cast<int64_t>(Sum(1.5, 2) * 2)", "", (8, 7)),
    ("functions return functions", "Adder(3)(4)", "", (7,)),
]


@pytest.mark.parametrize(
    ("fact", "expression", "statements", "sizes"), HELPER_ROWS, ids=[row[0] for row in HELPER_ROWS]
)
def test_functions_of_the_file(fact: str, expression: str, statements: str, sizes: tuple[int, ...]) -> None:
    """Functions, templates and constants of the file work as in C++."""
    assert shape_of(expression, before=HELPERS, statements=statements) == sizes


#: (what is refused, statements, attributes, a piece of the message)
REFUSED: list[tuple[str, str, dict[str, object], str]] = [
    (
        "a failed check",
        'CHECK_EQ_OR_RETURN(a, 8) << "a has to be " << 8;',
        {},
        "CHECK_EQ_OR_RETURN(a, 8) failed (7 vs 8): a has to be 8",
    ),
    ("a failed CHECK", "CHECK(a > 100);", {}, "CHECK(a > 100) failed"),
    ("an error that JUST hands on", "JUST(Positive(b));", {}, "n is -2"),
    ("an index past the end", "CHECK_GT(v.at(3), 0);", {}, "index 3 is out of range for 3 elements"),
    ("an axis past the end", "CHECK_GT(x.At(2), 0);", {}, "axis 2 is out of range for shape (2,3)"),
    ("a negative index", "CHECK_GT(v[b], 0);", {}, "index -2 is out of range"),
    ("division by zero", "CHECK_GT(a / (b + 2), 0);", {}, "division by zero"),
    (
        "a null TensorDesc",
        'CHECK(ctx->TensorDesc4ArgNameAndIndex("z", 0)->is_dynamic());',
        {},
        "a null pointer is used",
    ),
    (
        "an attribute of another type",
        'CHECK_GT(ctx->Attr<int32_t>("a"), 0);',
        {},
        "the op has no attribute 'a' of type int32",
    ),
    (
        "a loop that does not end",
        "int64_t n = 0;\nwhile (n >= 0) { n = n % 2; }",
        {},
        "more than 1,000,000 loop iterations",
    ),
    ("a loop that is too long", "int64_t n = 0;\nFOR_RANGE(int64_t, i, 0, 1LL << 60) { n += i; }", {}, "iterations"),
    ("recursion that does not end", "CHECK_GT(Endless(1), 0);", {}, "the recursion does not end"),
    ("a vector that is too long", "std::vector<int64_t> d(1LL << 40);", {}, "a vector of"),
    ("a DimVector of 21 sizes", "DimVector d(21);", {}, "at most 20"),
    ("a missing key", 'HashMap<std::string, int64_t> m;\nCHECK_GT(m.at("k"), 0);', {}, "a map has no key 'k'"),
    ("LOG(FATAL)", 'LOG(FATAL) << "no " << a;', {}, "no 7"),
    ("what is not implemented", "UNIMPLEMENTED();", {}, "UNIMPLEMENTED() failed"),
    (
        "a variable without a value",
        "int64_t n;\nif (a < 0) { n = 1; }\nCHECK_GT(n, 0);",
        {},
        "read before it has a value",
    ),
]
ENDLESS = "int64_t Endless(int64_t n) { return Endless(n + 1); }\n"


@pytest.mark.parametrize(("fact", "statements", "attrs", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_stops_a_function(fact: str, statements: str, attrs: dict[str, object], message: str) -> None:
    """It is an InferError at the line of the spec, and nothing else."""
    before = HELPERS + ENDLESS
    text = op(
        f"""  const int64_t a = ctx->Attr<int64_t>("a");
  const int64_t b = ctx->Attr<int64_t>("b");
  const std::vector<int32_t>& v = ctx->Attr<std::vector<int32_t>>("v");
  const Shape& x = *ctx->Shape4ArgNameAndIndex("x", 0);
{statements}""",
        before=before,
    )
    with pytest.raises(InferError) as caught:
        compiled(text).ops["t"].infer({"x": f32(2, 3)}, attrs)
    assert message in str(caught.value)
    where = caught.value.where
    assert where is not None
    lines = text.splitlines()
    own = {
        number
        for number, line in enumerate(lines, 1)
        if line and (line in statements.splitlines() or "Endless(n" in line or "CHECK_GT_OR_RETURN(n" in line)
    }
    assert where.line in own, lines[where.line - 1]


def test_an_error_that_nobody_looks_at_is_dropped() -> None:
    """C++ drops a Maybe that is not handed to JUST, but a CHECK in it still ends everything."""
    assert shape_of("a", before=HELPERS, statements="Positive(b);") == (7,)


def test_a_traceback_shows_the_spec() -> None:
    """The exception behind an InferError has a frame in the spec, at the line that failed."""
    text = op("  CHECK_EQ_OR_RETURN(1, 2);")
    with pytest.raises(InferError) as caught:
        compiled(text, "shown_cpp_def.cpp").ops["t"].infer({"x": f32(1)})
    frame = caught.value.__cause__.__traceback__  # type: ignore[union-attr]
    found = []
    while frame is not None:
        found.append((frame.tb_frame.f_code.co_filename, frame.tb_lineno))
        frame = frame.tb_next
    assert found[-1] == ("shown_cpp_def.cpp", text[: text.index("CHECK_EQ")].count("\n") + 1)


def test_the_line_that_is_quoted_is_the_one_that_was_compiled() -> None:
    """Another text under the same name does not change what an error quotes."""
    ops = []
    for size in (1, 2):
        statements = f'CHECK(ctx->TensorDesc4ArgNameAndIndex("z", {size})->is_dynamic());'
        ops.append(compiled(op(statements), "same.cpp").ops["t"])
    for size, one in zip((1, 2), ops):
        with pytest.raises(InferError, match=rf"a null pointer is used: .*\"z\", {size}\)"):
            one.infer({"x": f32(2)}, {})
