"""The user's module: imported from their package and made by their factory. Their code is run here."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ...problem import HubError


def made(place: str, what: str = "module") -> Any:
    """What the function of `package.module:function` gives; of a class, an instance. The folder where we are is
    looked in first.

    Raises HubError for a place that is not there, and for what the user's code raises: with its file and line.
    """
    package, colon, name = place.partition(":")
    if not colon or not package or not name:
        raise HubError(f"{place}: name a {what} as package.module:function, such as mypackage.model:make_model")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(package)
    except ModuleNotFoundError as wrong:
        if wrong.name is None or not (package == wrong.name or package.startswith(f"{wrong.name}.")):
            raise HubError(theirs(wrong, f"importing {package}")) from None
        raise HubError(
            f"{place}: there is no package {wrong.name}, here or installed: run it where `import {package}` works"
        ) from None
    except Exception as wrong:
        raise HubError(theirs(wrong, f"importing {package}")) from None
    for part in name.split("."):
        if not hasattr(found, part):
            raise HubError(f"{place}: {package} has no `{part}`")
        found = getattr(found, part)
    if isinstance(found, torch.nn.Module) or not callable(found):
        return found
    return called(found, f"{name}()")


def module(place: str) -> torch.nn.Module:
    """A module of the user's, in eval mode. Raises HubError."""
    found = made(place)
    if not isinstance(found, torch.nn.Module):
        raise HubError(f"{place}: this gives a {type(found).__name__}, not a torch.nn.Module")
    return found.eval()


def called(function: Callable[[], Any], what: str) -> Any:
    """What it gives. Raises HubError for what it raises."""
    try:
        return function()
    except Exception as wrong:
        raise HubError(theirs(wrong, what)) from None


def theirs(wrong: BaseException, what: str) -> str:
    """An error of the user's code: what was done, where it was raised, and what it says."""
    frames = traceback.extract_tb(wrong.__traceback__)
    own = Path(__file__).parents[1]
    outer = [
        frame
        for frame in frames
        if own not in Path(frame.filename).parents
        and "importlib" not in frame.filename
        and "/torch/" not in frame.filename
    ]
    place = f"{outer[-1].filename}:{outer[-1].lineno}: " if outer else ""
    return f"your code failed, {what}: {place}{type(wrong).__name__}: {' '.join(str(wrong).split())}"
