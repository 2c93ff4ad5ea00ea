// A certified OpenID provider on a free port of this machine, until its input ends. Anybody may register a client,
// and sign in by any name: that is the subject. The first line of its output is its issuer.
//
// The first argument is where oidc-provider is installed.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const { default: Provider } = await import(
  pathToFileURL(`${process.argv[2]}/node_modules/oidc-provider/lib/index.js`)
);

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  // By this name it is another site than a service at 127.0.0.1, as in real life.
  const issuer = `http://localhost:${server.address().port}`;
  const provider = new Provider(issuer, {
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    cookies: { keys: ["of the tests"] },
    features: { registration: { enabled: true, initialAccessToken: false } },
    findAccount: (context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@Clinic.example`, email_verified: !id.startsWith("new-") }),
    }),
    pkce: { required: () => true },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
  });
  server.on("request", provider.callback());
  process.stdout.write(`${issuer}\n`);
});
process.stdin.resume();
process.stdin.on("end", () => process.exit());
