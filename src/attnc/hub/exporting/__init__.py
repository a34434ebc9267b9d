"""From a spec with its weights to a folder that other tools serve: transformers, ONNX, torch.export."""

from .export import export_folder, export_model

__all__ = ["export_folder", "export_model"]
