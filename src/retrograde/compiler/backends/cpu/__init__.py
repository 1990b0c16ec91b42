"""The backend for processors: steps as machine code, made by LLVM."""
