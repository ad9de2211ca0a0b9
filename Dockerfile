# JupyterLab with the lessons. Build: docker build --tag workbench .
# Run: docker run --rm --publish 127.0.0.1:8888:8888 workbench, and open the link that it prints.
# TORCH=auto chooses CUDA on a machine with an NVIDIA driver.
# The digest is that of the images for all platforms. To renew it: docker buildx imagetools inspect python:3.12-slim
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
ARG TORCH=cpu
RUN pip install --no-cache-dir uv==0.13.9 \
 && useradd --create-home reader \
 && install --directory --owner=reader /opt/venv /workbench
USER reader
ENV VIRTUAL_ENV=/opt/venv PATH=/opt/venv/bin:$PATH
WORKDIR /workbench
COPY --chown=reader . .
RUN uv venv --clear /opt/venv \
 && uv pip install --no-cache --torch-backend ${TORCH} --constraint constraints.txt --constraint requirements.lock --editable '.[lab]' \
 && workbench index sample_memory
EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser", "--ServerApp.root_dir=notebooks", "--LabApp.default_url=/lab/tree/00_start.ipynb"]
