# docker build -t credence-testbed . && docker run --rm -v "$PWD/runs:/testbed/runs" credence-testbed testbed.demo
FROM python:3.12-slim
WORKDIR /testbed
COPY . /source
RUN pip install --no-cache-dir --require-hashes -r /source/requirements.lock \
    && pip install --no-cache-dir --no-deps /source && rm -r /source
ENTRYPOINT ["python", "-m"]
CMD ["testbed"]
