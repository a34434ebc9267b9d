"""The version of attnc: read by the build, and named in generated code."""

__version__ = "0.1.0"
