// Makes any node server listen on 127.0.0.1 only, on a port that the system chooses, and tell that port in a file.
// Usage: PORT_FILE=F NODE_OPTIONS="--require loopback.cjs" node server.js
const { writeFileSync } = require('node:fs');
const { Server } = require('node:net');

const listen = Server.prototype.listen;
Server.prototype.listen = function (...args) {
  this.once('listening', () => writeFileSync(process.env.PORT_FILE, String(this.address().port)));
  const callback = args.find((arg) => typeof arg === 'function');
  return listen.call(this, { host: '127.0.0.1', port: 0 }, callback);
};
