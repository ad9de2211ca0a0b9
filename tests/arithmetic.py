"""A printed formula, read as the arithmetic that it claims to be."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "max": max,
    "min": min,
    "abs": abs,
    "exp": math.exp,
    "expm1": math.expm1,
    "log": math.log,
    "log1p": math.log1p,
    "log2": math.log2,
    "log10": math.log10,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
    "floor": math.floor,
    "ceil": math.ceil,
    "sign": lambda value: (value > 0) - (value < 0),
}


def evaluated(formula: str, number: Callable[[str], Any] = float) -> Any:
    """What a printed formula comes to, by Python's own precedence; only arithmetic is understood."""
    source = formula.replace("×", "*").replace(" ^ ", "**")
    assert source.isascii()  # the tree counts bytes

    def value(node: ast.AST) -> Any:
        match node:
            case ast.Constant(value=int() | float()):
                return number(source[node.col_offset : node.end_col_offset])
            case ast.UnaryOp(op=op, operand=operand):
                return OPERATORS[type(op)](value(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return OPERATORS[type(op)](value(left), value(right))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return FUNCTIONS[name](*map(value, args))
        raise ValueError(f"not arithmetic: {ast.dump(node)}")

    return value(ast.parse(source, mode="eval").body)
