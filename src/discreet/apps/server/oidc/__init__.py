"""Sign-in with the account of an organisation, by OpenID Connect (authorization code, with PKCE).

settings       which provider, as a small TOML file says it
fetching       requests to the provider, with limits of time and size
provider       its addresses and keys, the way there, and who came back
kept           what was fetched from it, for a while
id_token       whether what the provider says of somebody is true, for us, and of now
pending        what a browser keeps between leaving and coming back
refusals       why somebody is not signed in
"""
