"""What several models share: distances, bilinear forms, kernels' frame, scoring with numpy."""
