"""What sanitizers write becomes one error at the user's line; a campaign runs them (tests/campaigns/cpp_faults.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.errors import KernelError, UsageError
from opkit.native import Compiler, SanitizerError
from opkit.native.sanitized import finding_of

ADDRESS = """=================================================================
==22==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60b0 at pc 0x7f bp 0x7f sp 0x7f
READ of size 8 at 0x60b0 thread T0
    #0 0x7f12 in Forward<double>::Compute(oneflow::user_op::KernelComputeContext*) const {file}:19
    #1 0x7f13 in main /usr/src/python/main.c:3

0x60b0 is located 0 bytes to the right of 96-byte region [0x60a0,0x60b0)
"""


def test_an_address_is_put_to_the_users_line(tmp_path: Path) -> None:
    """A read past the end says how far, at the innermost line of a file of the user's."""
    file = tmp_path / "k.cpp"
    file.write_text("")
    error = finding_of(ADDRESS.format(file=file), 1)
    assert isinstance(error, SanitizerError)
    assert error.message == (
        "AddressSanitizer: heap-buffer-overflow, READ of size 8, 0 bytes to the right of 96-byte region"
    )
    assert error.where is not None
    assert (error.where.file, error.where.line) == (str(file), 19)


def test_undefined_behaviour_has_its_line() -> None:
    """What the language leaves undefined is named with file and line."""
    error = finding_of("note\n/home/me/k.cpp:7:12: runtime error: shift exponent 33 is too large\n", 1)
    assert isinstance(error, SanitizerError)
    assert error.message == "undefined behaviour: shift exponent 33 is too large"
    assert str(error.where) == "/home/me/k.cpp:7"


def test_another_end_is_no_finding_of_the_sanitizers() -> None:
    """A process that ends by itself is an error of its own kind, with its last words."""
    error = finding_of("terminate called\n", -6)
    assert type(error) is KernelError
    assert error.message == "the C++ kernel ended its process (signal 6) terminate called"


def test_a_compiler_without_the_runtime(tmp_path: Path) -> None:
    """A compiler that does not name the sanitizers' runtime is refused."""
    fake = tmp_path / "fake"
    fake.write_text("#!/bin/sh\necho libasan.so\n")
    fake.chmod(0o755)
    with pytest.raises(UsageError, match=r"has no libasan\.so"):
        Compiler((str(fake),)).sanitizer_runtime()
