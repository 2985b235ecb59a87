# The server alone: no sources, no tests, no build tools. Build with `docker build -t svc .`; see docs/operate/docker.md.

FROM node:24-slim AS build
WORKDIR /src
COPY . .
RUN npm ci && npm run build

FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Workspaces are examples and contributed packages. Those that ship are in dist/; the clients they need are optional dependencies.
RUN npm ci --omit=dev --workspaces=false

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/package.json ./
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /src/dist ./dist
COPY LICENSE README.md ./
# The image's user `node` (1000:1000) owns the drive; a volume that is mounted here must be writable for it.
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 9000 9001
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "dist/kernel/main.js", "healthcheck", "--ready"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "dist/kernel/main.js"]
CMD ["server", "/data"]
