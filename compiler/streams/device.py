"""What a device can do, by its maker's figures: a few numbers for each, and files of users' own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...dsl.base.records import record
from ...dsl.nested import from_toml
from ..base.names import did_you_mean, listed


class DeviceError(ValueError):
    """No such device, or a file that does not say what one can do."""


@record
class Device:
    """What one device can do.

    bandwidth: bytes to and from device memory in a second.
    products:  operations of products of matrices in a second (a multiply-add is two), by dtype.
    others:    operations of float32 in a second that are no such products.
    shared:    bytes of shared memory that one program may have.
    registers: bytes of registers of one processor, which a program shares with none.
    cache:     bytes of the last cache before device memory.
    """

    name: str
    bandwidth: float
    products: Mapping[str, float]
    others: float
    shared: int
    registers: int
    cache: int
    source: str


KIB, MIB = 1024, 1024**2
_HOPPER = {"float16": 989.4e12, "bfloat16": 989.4e12, "float32": 494.7e12}  # dense; float32 as TF32
_AMPERE = {"float16": 312e12, "bfloat16": 312e12, "float32": 156e12}
_TUNING = "NVIDIA's tuning guide (shared memory, registers)"

DEVICES = {
    one.name: one
    for one in (
        Device(
            "a100", 2039e9, _AMPERE, 19.5e12, 163 * KIB, 256 * KIB, 40 * MIB,
            f"NVIDIA A100 80GB SXM, datasheet; {_TUNING} for Ampere",
        ),
        Device(
            "h100", 3.35e12, _HOPPER, 67e12, 227 * KIB, 256 * KIB, 50 * MIB,
            f"NVIDIA H100 SXM, datasheet; {_TUNING} for Hopper",
        ),
        Device(
            "h200", 4.8e12, _HOPPER, 67e12, 227 * KIB, 256 * KIB, 50 * MIB,
            f"NVIDIA H200 SXM, datasheet; {_TUNING} for Hopper",
        ),
    )
}  # fmt: skip
_NUMBERS = ("bandwidth", "others", "shared", "registers", "cache")


def device(wish: str) -> Device:
    """A device of the table by its name, or what a TOML file says of one. Raises DeviceError."""
    if wish in DEVICES:
        return DEVICES[wish]
    path = Path(wish)
    if path.suffix != ".toml":
        help = did_you_mean(wish, list(DEVICES)) or f"there are {listed(DEVICES)}; of another write a file, `mine.toml`"
        raise DeviceError(f"no device `{wish}`: {help}")
    try:
        told = from_toml(path.read_text(encoding="utf-8"))
    except OSError as wrong:
        raise DeviceError(f"{wish}: {wrong.strerror or wrong}") from None
    except ValueError as wrong:
        raise DeviceError(f"{wish} cannot be read as TOML: {wrong}") from None
    return _of(told, wish, path.stem)


def _of(told: Mapping[str, object], file: str, stem: str) -> Device:
    known = (*_NUMBERS, "products", "name", "source")
    for key in told:
        if key not in known:
            raise DeviceError(f"{file}: there is no `{key}` of a device; {did_you_mean(key, known) or listed(known)}")
    numbers = {key: _number(told, key, file) for key in _NUMBERS}
    rates = told.get("products")
    if not isinstance(rates, dict) or not rates:
        raise DeviceError(
            f"{file}: say how many operations of products of matrices it does in a second, for each dtype: "
            "`[products]` with `bfloat16 = 989e12`"
        )
    products = {dtype: _number(rates, dtype, f"{file}, [products]") for dtype in rates}
    return Device(
        str(told.get("name", stem)), numbers["bandwidth"], products, numbers["others"], int(numbers["shared"]),
        int(numbers["registers"]), int(numbers["cache"]), str(told.get("source", file)),
    )  # fmt: skip


def _number(told: Mapping[str, object], key: str, where: str) -> float:
    value = told.get(key)
    if value is None:
        raise DeviceError(f"{where}: `{key}` is missing: {_MEANING.get(key, 'operations in a second')}")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise DeviceError(f"{where}: `{key}` is {value!r}, but it must be a number above 0")
    return float(value)


_MEANING = {
    "bandwidth": "bytes to and from device memory in a second",
    "others": "operations in a second that are no products of matrices",
    "shared": "bytes of shared memory that one program may have",
    "registers": "bytes of registers of one processor",
    "cache": "bytes of the last cache before device memory",
}
