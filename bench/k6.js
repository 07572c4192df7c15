// One GET and no check, as the other peers do it.
import http from 'k6/http';

export default function () {
  http.get(__ENV.TARGET);
}
