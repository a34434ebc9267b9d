"""The version of attnc: read by the build, and told by generated code."""

__version__ = "0.1.0"
