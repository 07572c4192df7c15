// Sends one GET and checks nothing, like the other peers.
import http from 'k6/http';

export default function () {
  http.get(`${__ENV.TARGET}/`);
}
