"""Ops from formulas: a text such as ``x * sigmoid(beta * x)`` becomes kernels, a definition and a domain.

It owns the language of formulas, their derivatives and their numerically careful forms. It writes no file and knows
neither templates nor op directories. Derivatives of single elements and rewriting are sympy's (the extra ``formula``);
what spans axes is derived here.

Source: reverse-mode differentiation, Griewank and Walther, Evaluating Derivatives, 2nd edition, chapter 3.
"""

from __future__ import annotations

from opkit.formula.design import Design, design
from opkit.formula.dialect import Translated, translated
from opkit.formula.domain import Region
from opkit.formula.function import FunctionText, read_function

__all__ = ["Design", "FunctionText", "Region", "Translated", "design", "read_function", "translated"]
