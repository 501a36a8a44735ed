"""Whether a fused form computes what the original nodes compute."""
