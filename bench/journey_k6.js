// Logs in with a form, follows the redirect, and gets ten pages with the session cookie. k6 forgets cookies after each
// iteration. A page without the cookie is refused, and k6 then ends with an error.
import http from 'k6/http';

export const options = { thresholds: { http_req_failed: ['rate==0'] } };

export default function () {
  http.post(`${__ENV.TARGET}/login`, { user: 'ada', password: 'secret' });
  for (let page = 0; page < 10; page++) {
    http.get(`${__ENV.TARGET}/page`);
  }
}
