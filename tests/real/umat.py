"""umat.py - an OpenCV pipeline on UMat: the T-API runs it on OpenCL. Prints checksums only."""
import os
import sys

os.environ["OPENCV_OPENCL_DEVICE"] = ":CPU:"  # by default it takes GPUs only
os.environ["OPENCV_OPENCL_CACHE_ENABLE"] = "false"
import cv2  # noqa: E402
import numpy as np  # noqa: E402

if not cv2.ocl.haveOpenCL():
    print("OpenCV found no OpenCL")
    sys.exit(77)
cv2.ocl.setUseOpenCL(True)
rows, columns = np.mgrid[0:240, 0:320]
picture = ((rows * 3 + columns * 5) % 256).astype(np.uint8)
frame = cv2.UMat(cv2.merge([picture, picture.T[:240, :240].repeat(2, 1)[:, :320], 255 - picture]))
total = 0
for step in range(20):
    grey = cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
    soft = cv2.GaussianBlur(grey, (7, 7), 1.5)
    edges = cv2.Canny(soft, 20 + step, 60 + step)
    small = cv2.resize(soft, (160, 120), interpolation=cv2.INTER_LINEAR)
    mixed = cv2.addWeighted(small, 0.5, cv2.resize(edges, (160, 120), interpolation=cv2.INTER_LINEAR), 0.5, 0)
    total += int(mixed.get().astype(np.int64).sum())
print("in use", cv2.ocl.useOpenCL(), "sum", total)
