// The OF_PP macros: sequences such as (a)(b) and ((x, y))((z, w)), their products, and what is written for each element.
//
// A macro cannot call itself. So a sequence becomes a list (two macros that take turns), a list is walked eight elements a
// round, and a round leaves the name of the next one for another scan: some 20 scans serve 160 elements. No set of these
// macros can be used within itself; there are as many as loops are nested.
#pragma once

#define OF_PP_CAT(a, b) OPKIT_PP_CAT(a, b)
#define OPKIT_PP_CAT(a, b) a##b
#define OF_PP_STRINGIZE(x) OPKIT_PP_STRINGIZE(x)
#define OPKIT_PP_STRINGIZE(x) #x
#define OF_PP_MAKE_TUPLE_SEQ(...) ((__VA_ARGS__))
#define OF_PP_ATOMIC_TO_TUPLE(x) (x)
#define OF_COMMA ,
#define OPKIT_PP_BARE(...) __VA_ARGS__
#define OPKIT_PP_CALL(macro, arguments) macro arguments
#define OF_PP_TUPLE2VARADIC(t) OPKIT_PP_BARE t
#define OF_PP_FORCE(...) __VA_ARGS__

#define OF_PP_TUPLE_ELEM(n, t) OPKIT_PP_CALL(OPKIT_PP_CAT(OPKIT_PP_ELEM_, n), (OPKIT_PP_BARE t, ))
#define OPKIT_PP_ELEM_0(a, ...) a
#define OPKIT_PP_ELEM_1(a, b, ...) b
#define OPKIT_PP_ELEM_2(a, b, c, ...) c
#define OPKIT_PP_ELEM_3(a, b, c, d, ...) d
#define OPKIT_PP_ELEM_4(a, b, c, d, e, ...) e
#define OF_PP_PAIR_FIRST(pair) OPKIT_PP_CALL(OPKIT_PP_ELEM_0, (OPKIT_PP_BARE pair, ))
#define OF_PP_PAIR_SECOND(pair) OPKIT_PP_CALL(OPKIT_PP_ELEM_1, (OPKIT_PP_BARE pair, ))
#define OF_PP_VARIADIC_SIZE(...) OPKIT_PP_SIZE_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define OPKIT_PP_SIZE_(a, b, c, d, e, f, g, h, i, j, k, l, n, ...) n
#define OF_PP_TUPLE_SIZE(t) OPKIT_PP_CALL(OF_PP_VARIADIC_SIZE, t)
#define OF_PP_SEQ_SIZE(seq) OF_PP_VARIADIC_SIZE(OPKIT_PP_LIST(seq))
#define OF_PP_TUPLE_PUSH_FRONT(t, x) (x, OPKIT_PP_BARE t)

// (a)(b)(c) becomes a, b, c
#define OPKIT_PP_LIST(seq) OPKIT_PP_LIST_(OPKIT_PP_FIRST seq)
#define OPKIT_PP_LIST_(...) OPKIT_PP_LIST__(__VA_ARGS__)
#define OPKIT_PP_LIST__(...) __VA_ARGS__##_END
#define OPKIT_PP_FIRST(...) __VA_ARGS__ OPKIT_PP_ODD
#define OPKIT_PP_ODD(...) , __VA_ARGS__ OPKIT_PP_EVEN
#define OPKIT_PP_EVEN(...) , __VA_ARGS__ OPKIT_PP_ODD
#define OPKIT_PP_FIRST_END
#define OPKIT_PP_ODD_END
#define OPKIT_PP_EVEN_END
#define OPKIT_PP_NOTHING()

// OPKIT_PP_EACH_A(call, rest, a, b, ...) becomes call(rest, a) call(rest, b) ...
#define OPKIT_PP_EACH_A(...) OPKIT_PP_SCANS_A(OPKIT_PP_A0(__VA_ARGS__))
#define OPKIT_PP_A0(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_A1(call, m, __VA_ARGS__))
#define OPKIT_PP_A1(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_A2(call, m, __VA_ARGS__))
#define OPKIT_PP_A2(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_A3(call, m, __VA_ARGS__))
#define OPKIT_PP_A3(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_A4(call, m, __VA_ARGS__))
#define OPKIT_PP_A4(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_A5(call, m, __VA_ARGS__))
#define OPKIT_PP_A5(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_A6(call, m, __VA_ARGS__))
#define OPKIT_PP_A6(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_A7(call, m, __VA_ARGS__))
#define OPKIT_PP_A7(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_NEXT_A OPKIT_PP_NOTHING()()(call, m, __VA_ARGS__))
#define OPKIT_PP_NEXT_A() OPKIT_PP_A0
#define OPKIT_PP_SCAN_A(...) __VA_ARGS__
#define OPKIT_PP_SOME_A(...) OPKIT_PP_SCAN_A(OPKIT_PP_SCAN_A(OPKIT_PP_SCAN_A(OPKIT_PP_SCAN_A(__VA_ARGS__))))
#define OPKIT_PP_SCANS_A(...) OPKIT_PP_SOME_A(OPKIT_PP_SOME_A(OPKIT_PP_SOME_A(OPKIT_PP_SOME_A(__VA_ARGS__))))

// OPKIT_PP_EACH_B(call, rest, a, b, ...) becomes call(rest, a) call(rest, b) ...
#define OPKIT_PP_EACH_B(...) OPKIT_PP_SCANS_B(OPKIT_PP_B0(__VA_ARGS__))
#define OPKIT_PP_B0(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_B1(call, m, __VA_ARGS__))
#define OPKIT_PP_B1(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_B2(call, m, __VA_ARGS__))
#define OPKIT_PP_B2(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_B3(call, m, __VA_ARGS__))
#define OPKIT_PP_B3(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_B4(call, m, __VA_ARGS__))
#define OPKIT_PP_B4(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_B5(call, m, __VA_ARGS__))
#define OPKIT_PP_B5(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_B6(call, m, __VA_ARGS__))
#define OPKIT_PP_B6(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_B7(call, m, __VA_ARGS__))
#define OPKIT_PP_B7(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_NEXT_B OPKIT_PP_NOTHING()()(call, m, __VA_ARGS__))
#define OPKIT_PP_NEXT_B() OPKIT_PP_B0
#define OPKIT_PP_SCAN_B(...) __VA_ARGS__
#define OPKIT_PP_SOME_B(...) OPKIT_PP_SCAN_B(OPKIT_PP_SCAN_B(OPKIT_PP_SCAN_B(OPKIT_PP_SCAN_B(__VA_ARGS__))))
#define OPKIT_PP_SCANS_B(...) OPKIT_PP_SOME_B(OPKIT_PP_SOME_B(OPKIT_PP_SOME_B(OPKIT_PP_SOME_B(__VA_ARGS__))))

// OPKIT_PP_EACH_C(call, rest, a, b, ...) becomes call(rest, a) call(rest, b) ...
#define OPKIT_PP_EACH_C(...) OPKIT_PP_SCANS_C(OPKIT_PP_C0(__VA_ARGS__))
#define OPKIT_PP_C0(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_C1(call, m, __VA_ARGS__))
#define OPKIT_PP_C1(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_C2(call, m, __VA_ARGS__))
#define OPKIT_PP_C2(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_C3(call, m, __VA_ARGS__))
#define OPKIT_PP_C3(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_C4(call, m, __VA_ARGS__))
#define OPKIT_PP_C4(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_C5(call, m, __VA_ARGS__))
#define OPKIT_PP_C5(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_C6(call, m, __VA_ARGS__))
#define OPKIT_PP_C6(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_C7(call, m, __VA_ARGS__))
#define OPKIT_PP_C7(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_NEXT_C OPKIT_PP_NOTHING()()(call, m, __VA_ARGS__))
#define OPKIT_PP_NEXT_C() OPKIT_PP_C0
#define OPKIT_PP_SCAN_C(...) __VA_ARGS__
#define OPKIT_PP_SOME_C(...) OPKIT_PP_SCAN_C(OPKIT_PP_SCAN_C(OPKIT_PP_SCAN_C(OPKIT_PP_SCAN_C(__VA_ARGS__))))
#define OPKIT_PP_SCANS_C(...) OPKIT_PP_SOME_C(OPKIT_PP_SOME_C(OPKIT_PP_SOME_C(OPKIT_PP_SOME_C(__VA_ARGS__))))

// OPKIT_PP_EACH_D(call, rest, a, b, ...) becomes call(rest, a) call(rest, b) ...
#define OPKIT_PP_EACH_D(...) OPKIT_PP_SCANS_D(OPKIT_PP_D0(__VA_ARGS__))
#define OPKIT_PP_D0(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_D1(call, m, __VA_ARGS__))
#define OPKIT_PP_D1(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_D2(call, m, __VA_ARGS__))
#define OPKIT_PP_D2(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_D3(call, m, __VA_ARGS__))
#define OPKIT_PP_D3(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_D4(call, m, __VA_ARGS__))
#define OPKIT_PP_D4(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_D5(call, m, __VA_ARGS__))
#define OPKIT_PP_D5(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_D6(call, m, __VA_ARGS__))
#define OPKIT_PP_D6(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_D7(call, m, __VA_ARGS__))
#define OPKIT_PP_D7(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_NEXT_D OPKIT_PP_NOTHING()()(call, m, __VA_ARGS__))
#define OPKIT_PP_NEXT_D() OPKIT_PP_D0
#define OPKIT_PP_SCAN_D(...) __VA_ARGS__
#define OPKIT_PP_SOME_D(...) OPKIT_PP_SCAN_D(OPKIT_PP_SCAN_D(OPKIT_PP_SCAN_D(OPKIT_PP_SCAN_D(__VA_ARGS__))))
#define OPKIT_PP_SCANS_D(...) OPKIT_PP_SOME_D(OPKIT_PP_SOME_D(OPKIT_PP_SOME_D(OPKIT_PP_SOME_D(__VA_ARGS__))))

// OPKIT_PP_EACH_E(call, rest, a, b, ...) becomes call(rest, a) call(rest, b) ...
#define OPKIT_PP_EACH_E(...) OPKIT_PP_SCANS_E(OPKIT_PP_E0(__VA_ARGS__))
#define OPKIT_PP_E0(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_E1(call, m, __VA_ARGS__))
#define OPKIT_PP_E1(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_E2(call, m, __VA_ARGS__))
#define OPKIT_PP_E2(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_E3(call, m, __VA_ARGS__))
#define OPKIT_PP_E3(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_E4(call, m, __VA_ARGS__))
#define OPKIT_PP_E4(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_E5(call, m, __VA_ARGS__))
#define OPKIT_PP_E5(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_E6(call, m, __VA_ARGS__))
#define OPKIT_PP_E6(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_E7(call, m, __VA_ARGS__))
#define OPKIT_PP_E7(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_NEXT_E OPKIT_PP_NOTHING()()(call, m, __VA_ARGS__))
#define OPKIT_PP_NEXT_E() OPKIT_PP_E0
#define OPKIT_PP_SCAN_E(...) __VA_ARGS__
#define OPKIT_PP_SOME_E(...) OPKIT_PP_SCAN_E(OPKIT_PP_SCAN_E(OPKIT_PP_SCAN_E(OPKIT_PP_SCAN_E(__VA_ARGS__))))
#define OPKIT_PP_SCANS_E(...) OPKIT_PP_SOME_E(OPKIT_PP_SOME_E(OPKIT_PP_SOME_E(OPKIT_PP_SOME_E(__VA_ARGS__))))

// OPKIT_PP_EACH_F(call, rest, a, b, ...) becomes call(rest, a) call(rest, b) ...
#define OPKIT_PP_EACH_F(...) OPKIT_PP_SCANS_F(OPKIT_PP_F0(__VA_ARGS__))
#define OPKIT_PP_F0(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_F1(call, m, __VA_ARGS__))
#define OPKIT_PP_F1(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_F2(call, m, __VA_ARGS__))
#define OPKIT_PP_F2(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_F3(call, m, __VA_ARGS__))
#define OPKIT_PP_F3(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_F4(call, m, __VA_ARGS__))
#define OPKIT_PP_F4(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_F5(call, m, __VA_ARGS__))
#define OPKIT_PP_F5(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_F6(call, m, __VA_ARGS__))
#define OPKIT_PP_F6(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_F7(call, m, __VA_ARGS__))
#define OPKIT_PP_F7(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_NEXT_F OPKIT_PP_NOTHING()()(call, m, __VA_ARGS__))
#define OPKIT_PP_NEXT_F() OPKIT_PP_F0
#define OPKIT_PP_SCAN_F(...) __VA_ARGS__
#define OPKIT_PP_SOME_F(...) OPKIT_PP_SCAN_F(OPKIT_PP_SCAN_F(OPKIT_PP_SCAN_F(OPKIT_PP_SCAN_F(__VA_ARGS__))))
#define OPKIT_PP_SCANS_F(...) OPKIT_PP_SOME_F(OPKIT_PP_SOME_F(OPKIT_PP_SOME_F(OPKIT_PP_SOME_F(__VA_ARGS__))))

// OPKIT_PP_EACH_G(call, rest, a, b, ...) becomes call(rest, a) call(rest, b) ...
#define OPKIT_PP_EACH_G(...) OPKIT_PP_SCANS_G(OPKIT_PP_G0(__VA_ARGS__))
#define OPKIT_PP_G0(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_G1(call, m, __VA_ARGS__))
#define OPKIT_PP_G1(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_G2(call, m, __VA_ARGS__))
#define OPKIT_PP_G2(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_G3(call, m, __VA_ARGS__))
#define OPKIT_PP_G3(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_G4(call, m, __VA_ARGS__))
#define OPKIT_PP_G4(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_G5(call, m, __VA_ARGS__))
#define OPKIT_PP_G5(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_G6(call, m, __VA_ARGS__))
#define OPKIT_PP_G6(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_G7(call, m, __VA_ARGS__))
#define OPKIT_PP_G7(call, m, x, ...) call(m, x) __VA_OPT__(OPKIT_PP_NEXT_G OPKIT_PP_NOTHING()()(call, m, __VA_ARGS__))
#define OPKIT_PP_NEXT_G() OPKIT_PP_G0
#define OPKIT_PP_SCAN_G(...) __VA_ARGS__
#define OPKIT_PP_SOME_G(...) OPKIT_PP_SCAN_G(OPKIT_PP_SCAN_G(OPKIT_PP_SCAN_G(OPKIT_PP_SCAN_G(__VA_ARGS__))))
#define OPKIT_PP_SCANS_G(...) OPKIT_PP_SOME_G(OPKIT_PP_SOME_G(OPKIT_PP_SOME_G(OPKIT_PP_SOME_G(__VA_ARGS__))))

// macro is written with each tuple of a sequence
#define OF_PP_FOR_EACH_TUPLE(macro, seq) OPKIT_PP_EACH_A(OPKIT_PP_ON_TUPLE, macro, OPKIT_PP_LIST(seq))
#define OF_PP_OUTTER_FOR_EACH_TUPLE(macro, seq) OPKIT_PP_EACH_B(OPKIT_PP_ON_OUTER, macro, OPKIT_PP_LIST(seq))
#define OPKIT_PP_ON_TUPLE(macro, x) macro x
#define OPKIT_PP_ON_OUTER(macro, x) macro x
#define OPKIT_PP_ON_ATOM(macro, x) macro(x)
#define OF_PP_FOR_EACH_ATOMIC(macro, seq) OPKIT_PP_EACH_A(OPKIT_PP_ON_ATOM, macro, OPKIT_PP_LIST(seq))
#define OPKIT_PP_IN_PARENTHESES(macro, x) (macro(x))
#define OF_PP_SEQ_MAP(macro, seq) OPKIT_PP_EACH_B(OPKIT_PP_IN_PARENTHESES, macro, OPKIT_PP_LIST(seq))

// macro is written with each tuple of a product of up to five sequences: one loop within the other
#define OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(macro, ...) OPKIT_PP_PICK(OPKIT_PP_PRODUCT_, OF_PP_VARIADIC_SIZE(__VA_ARGS__))(macro, __VA_ARGS__)
#define OPKIT_PP_PICK(a, b) OPKIT_PP_PICK_(a, b)
#define OPKIT_PP_PICK_(a, b) a##b
#define OPKIT_PP_PRODUCT_1(m, s) OPKIT_PP_EACH_C(OPKIT_PP_1_OF_1, (m), OPKIT_PP_LIST(s))
#define OPKIT_PP_1_OF_1(rest, a) OPKIT_PP_1_BY_1(OPKIT_PP_BARE rest, a)
#define OPKIT_PP_1_BY_1(...) OPKIT_PP_1_AT_1(__VA_ARGS__)
#define OPKIT_PP_1_AT_1(m, a) m(a)
#define OPKIT_PP_PRODUCT_2(m, s, t) OPKIT_PP_EACH_C(OPKIT_PP_2_OF_1, (m, t), OPKIT_PP_LIST(s))
#define OPKIT_PP_2_OF_1(rest, a) OPKIT_PP_2_BY_1(OPKIT_PP_BARE rest, a)
#define OPKIT_PP_2_BY_1(...) OPKIT_PP_2_AT_1(__VA_ARGS__)
#define OPKIT_PP_2_AT_1(m, t, a) OPKIT_PP_EACH_D(OPKIT_PP_2_OF_2, (m, a), OPKIT_PP_LIST(t))
#define OPKIT_PP_2_OF_2(rest, b) OPKIT_PP_2_BY_2(OPKIT_PP_BARE rest, b)
#define OPKIT_PP_2_BY_2(...) OPKIT_PP_2_AT_2(__VA_ARGS__)
#define OPKIT_PP_2_AT_2(m, a, b) m(a, b)
#define OPKIT_PP_PRODUCT_3(m, s, t, u) OPKIT_PP_EACH_C(OPKIT_PP_3_OF_1, (m, t, u), OPKIT_PP_LIST(s))
#define OPKIT_PP_3_OF_1(rest, a) OPKIT_PP_3_BY_1(OPKIT_PP_BARE rest, a)
#define OPKIT_PP_3_BY_1(...) OPKIT_PP_3_AT_1(__VA_ARGS__)
#define OPKIT_PP_3_AT_1(m, t, u, a) OPKIT_PP_EACH_D(OPKIT_PP_3_OF_2, (m, u, a), OPKIT_PP_LIST(t))
#define OPKIT_PP_3_OF_2(rest, b) OPKIT_PP_3_BY_2(OPKIT_PP_BARE rest, b)
#define OPKIT_PP_3_BY_2(...) OPKIT_PP_3_AT_2(__VA_ARGS__)
#define OPKIT_PP_3_AT_2(m, u, a, b) OPKIT_PP_EACH_E(OPKIT_PP_3_OF_3, (m, a, b), OPKIT_PP_LIST(u))
#define OPKIT_PP_3_OF_3(rest, c) OPKIT_PP_3_BY_3(OPKIT_PP_BARE rest, c)
#define OPKIT_PP_3_BY_3(...) OPKIT_PP_3_AT_3(__VA_ARGS__)
#define OPKIT_PP_3_AT_3(m, a, b, c) m(a, b, c)
#define OPKIT_PP_PRODUCT_4(m, s, t, u, v) OPKIT_PP_EACH_C(OPKIT_PP_4_OF_1, (m, t, u, v), OPKIT_PP_LIST(s))
#define OPKIT_PP_4_OF_1(rest, a) OPKIT_PP_4_BY_1(OPKIT_PP_BARE rest, a)
#define OPKIT_PP_4_BY_1(...) OPKIT_PP_4_AT_1(__VA_ARGS__)
#define OPKIT_PP_4_AT_1(m, t, u, v, a) OPKIT_PP_EACH_D(OPKIT_PP_4_OF_2, (m, u, v, a), OPKIT_PP_LIST(t))
#define OPKIT_PP_4_OF_2(rest, b) OPKIT_PP_4_BY_2(OPKIT_PP_BARE rest, b)
#define OPKIT_PP_4_BY_2(...) OPKIT_PP_4_AT_2(__VA_ARGS__)
#define OPKIT_PP_4_AT_2(m, u, v, a, b) OPKIT_PP_EACH_E(OPKIT_PP_4_OF_3, (m, v, a, b), OPKIT_PP_LIST(u))
#define OPKIT_PP_4_OF_3(rest, c) OPKIT_PP_4_BY_3(OPKIT_PP_BARE rest, c)
#define OPKIT_PP_4_BY_3(...) OPKIT_PP_4_AT_3(__VA_ARGS__)
#define OPKIT_PP_4_AT_3(m, v, a, b, c) OPKIT_PP_EACH_F(OPKIT_PP_4_OF_4, (m, a, b, c), OPKIT_PP_LIST(v))
#define OPKIT_PP_4_OF_4(rest, d) OPKIT_PP_4_BY_4(OPKIT_PP_BARE rest, d)
#define OPKIT_PP_4_BY_4(...) OPKIT_PP_4_AT_4(__VA_ARGS__)
#define OPKIT_PP_4_AT_4(m, a, b, c, d) m(a, b, c, d)
#define OPKIT_PP_PRODUCT_5(m, s, t, u, v, w) OPKIT_PP_EACH_C(OPKIT_PP_5_OF_1, (m, t, u, v, w), OPKIT_PP_LIST(s))
#define OPKIT_PP_5_OF_1(rest, a) OPKIT_PP_5_BY_1(OPKIT_PP_BARE rest, a)
#define OPKIT_PP_5_BY_1(...) OPKIT_PP_5_AT_1(__VA_ARGS__)
#define OPKIT_PP_5_AT_1(m, t, u, v, w, a) OPKIT_PP_EACH_D(OPKIT_PP_5_OF_2, (m, u, v, w, a), OPKIT_PP_LIST(t))
#define OPKIT_PP_5_OF_2(rest, b) OPKIT_PP_5_BY_2(OPKIT_PP_BARE rest, b)
#define OPKIT_PP_5_BY_2(...) OPKIT_PP_5_AT_2(__VA_ARGS__)
#define OPKIT_PP_5_AT_2(m, u, v, w, a, b) OPKIT_PP_EACH_E(OPKIT_PP_5_OF_3, (m, v, w, a, b), OPKIT_PP_LIST(u))
#define OPKIT_PP_5_OF_3(rest, c) OPKIT_PP_5_BY_3(OPKIT_PP_BARE rest, c)
#define OPKIT_PP_5_BY_3(...) OPKIT_PP_5_AT_3(__VA_ARGS__)
#define OPKIT_PP_5_AT_3(m, v, w, a, b, c) OPKIT_PP_EACH_F(OPKIT_PP_5_OF_4, (m, w, a, b, c), OPKIT_PP_LIST(v))
#define OPKIT_PP_5_OF_4(rest, d) OPKIT_PP_5_BY_4(OPKIT_PP_BARE rest, d)
#define OPKIT_PP_5_BY_4(...) OPKIT_PP_5_AT_4(__VA_ARGS__)
#define OPKIT_PP_5_AT_4(m, w, a, b, c, d) OPKIT_PP_EACH_G(OPKIT_PP_5_OF_5, (m, a, b, c, d), OPKIT_PP_LIST(w))
#define OPKIT_PP_5_OF_5(rest, e) OPKIT_PP_5_BY_5(OPKIT_PP_BARE rest, e)
#define OPKIT_PP_5_BY_5(...) OPKIT_PP_5_AT_5(__VA_ARGS__)
#define OPKIT_PP_5_AT_5(m, a, b, c, d, e) m(a, b, c, d, e)
