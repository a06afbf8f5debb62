"""Makes tokens.json: key sets and tokens, good and hostile, by PyJWT, cryptography and the openssl program.

    pip install pyjwt cryptography
    python3 make_tokens.py > tokens.json

Private keys are thrown away, so a new run replaces the whole file. The tests set their clock to NOW.
"""

import base64
import hashlib
import hmac
import json
import os
import subprocess
import sys
import tempfile

import cryptography
import jwt
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

NOW = 1_700_000_000
ISSUER = "https://issuer.example"
AUDIENCE = "sluice"
SECRET = bytes(range(32))


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def dump(value):
    return json.dumps(value, separators=(",", ":")).encode()


def claims(**changes):
    result = {"iss": ISSUER, "aud": AUDIENCE, "sub": "user-1", "iat": NOW, "exp": NOW + 3600, "role": "editor"}
    result.update(changes)
    return {name: value for name, value in result.items() if value is not None}


keys = {
    "rsa": rsa.generate_private_key(65537, 2048),
    "pss": rsa.generate_private_key(65537, 3072),
    "ec": ec.generate_private_key(ec.SECP256R1()),
    "ed": ed25519.Ed25519PrivateKey.generate(),
    "small": rsa.generate_private_key(65537, 1024),
    "stranger": rsa.generate_private_key(65537, 2048),
}
algorithms = {"rsa": "RS256", "pss": "PS256", "ec": "ES256", "ed": "EdDSA", "small": "RS256", "stranger": "RS256"}
kinds = {"RS256": jwt.algorithms.RSAAlgorithm, "PS256": jwt.algorithms.RSAAlgorithm,
         "ES256": jwt.algorithms.ECAlgorithm, "EdDSA": jwt.algorithms.OKPAlgorithm}


def public(name, declares=True):
    result = json.loads(kinds[algorithms[name]].to_jwk(keys[name].public_key()))
    result.pop("key_ops", None)
    result["kid"] = name
    if declares:
        result["alg"] = algorithms[name]
        result["use"] = "sig"
    return result


def pem(name):
    return keys[name].public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def token(name, payload, **headers):
    return jwt.encode(payload, keys[name], algorithms[name], headers={"kid": name, **headers})


def signed(name, header, payload):
    """A token whose header and payload are given as bytes, signed with RS256."""
    message = f"{encode(header)}.{encode(payload)}"
    return f"{message}.{encode(keys[name].sign(message.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def by_openssl(name):
    """A token that the openssl program signs."""
    header = {"alg": algorithms[name], "kid": name}
    message = f"{encode(dump(header))}.{encode(dump(claims()))}".encode()
    with tempfile.TemporaryDirectory() as folder:
        key, text = os.path.join(folder, "key"), os.path.join(folder, "text")
        with open(key, "wb") as file:
            file.write(keys[name].private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        with open(text, "wb") as file:
            file.write(message)
        if name == "ed":
            command = ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", text]
        else:
            command = ["openssl", "dgst", "-sha256", "-sign", key]
            if name == "pss":
                command += ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:32"]
            command.append(text)
        signature = subprocess.run(command, check=True, capture_output=True).stdout
    if name == "ec":
        r, s = decode_dss_signature(signature)
        signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
    return f"{message.decode()}.{encode(signature)}"


cases = []


def case(name, token, expected="accepted"):
    cases.append({"name": name, "token": token, "expected": expected})


for name in ["rsa", "pss", "ec", "ed"]:
    case(f"{algorithms[name]} by PyJWT", token(name, claims()))
    case(f"{algorithms[name]} by openssl", by_openssl(name))
case("audience as a list", token("ec", claims(aud=["other", AUDIENCE])))
case("a minute late", token("ec", claims(exp=NOW - 59)))
case("a minute early", token("ec", claims(nbf=NOW + 59)))
case("an expiry with a fraction", token("ec", claims(exp=NOW + 0.5)))
case("a token for access", token("ec", claims(), typ="at+jwt"))
case("keys in the header are not looked at",
     token("ec", claims(), jku="https://evil.example", x5u="https://evil.example", jwk=public("stranger")))

case("no kid where one key could have signed", jwt.encode(claims(), keys["rsa"], "RS256"))
case("the stranger's key in the header",
     jwt.encode(claims(), keys["stranger"], "RS256", headers={"kid": "rsa", "jwk": public("stranger")}), "signature")
case("the stranger's key under its own name",
     jwt.encode(claims(), keys["stranger"], "RS256", headers={"kid": "stranger"}), "unknownKey")
case("a key that is too small", token("small", claims()), "unknownKey")
payload = encode(dump(claims()))
for spelling in ["none", "None", "NONE", "nOnE", ""]:
    header = encode(dump({"alg": spelling, "typ": "JWT"}))
    case(f"alg '{spelling}' without signature", f"{header}.{payload}.", "malformed")
    case(f"alg '{spelling}' with a signature", f"{header}.{payload}.AAAA", "algorithm")
header = encode(dump({"typ": "JWT"}))
case("no alg", f"{header}.{payload}.AAAA", "algorithm")
for name in ["rsa", "ec"]:
    header = encode(dump({"alg": "HS256", "kid": name}))
    for secret, what in [(pem(name), "PEM"), (dump(public(name)), "JWK")]:
        code = hmac.new(secret, f"{header}.{payload}".encode(), hashlib.sha256).digest()
        case(f"HS256 with the public key {name} as {what}", f"{header}.{payload}.{encode(code)}", "algorithm")
case("RS256 over a key for PS256",
     jwt.encode(claims(), keys["pss"], "RS256", headers={"kid": "pss"}), "algorithm")
case("PS256 over a key for RS256",
     jwt.encode(claims(), keys["rsa"], "PS256", headers={"kid": "rsa"}), "algorithm")
case("ES256 over the name of an RSA key",
     jwt.encode(claims(), keys["ec"], "ES256", headers={"kid": "rsa"}), "algorithm")
case("RS512", jwt.encode(claims(), keys["rsa"], "RS512", headers={"kid": "rsa"}), "algorithm")
good = token("ec", claims())
head, body, code = good.split(".")
zero = encode(bytes(64))
case("ES256 with r = s = 0", f"{head}.{body}.{zero}", "signature")
der = encode(keys["ec"].sign(f"{head}.{body}".encode(), ec.ECDSA(hashes.SHA256())))
case("ES256 with a signature in DER", f"{head}.{body}.{der}", "signature")
case("another payload", f"{head}.{encode(dump(claims(sub='admin')))}.{code}", "signature")
case("the payload twice", f"{head}.{body}.{body}.{code}", "malformed")
case("five parts, as an encrypted token has", f"{head}.{body}.{code}.{code}.{code}", "malformed")
case("padding", f"{head}.{body}.{code}==", "malformed")
case("blanks around", f" {good} ", "malformed")
case("a line feed at the end", f"{good}\n", "malformed")
case("bits left over", f"{head}.{body}.{code[:-1]}{'B' if code[-1] != 'B' else 'D'}", "malformed")
case("the alphabet of files", f"{head}.{body}.{'+/' + code[2:]}", "malformed")
case("empty", "", "malformed")
case("two dots", "..", "malformed")
for length in [1, len(head), len(head) + 1, len(head) + len(body) + 1]:
    case(f"cut after {length} bytes", good[:length], "malformed")
case("longer than 16 KiB", token("ec", claims(padding="x" * 16384)), "tooLong")
case("crit", token("ec", claims(), crit=["exp"]), "extensions")
case("unencoded payload", signed("rsa", dump({"alg": "RS256", "kid": "rsa", "b64": True}), dump(claims())),
     "extensions")
case("a token within the token", token("ec", claims(), cty="JWT"), "kind")
case("a token for logout", token("ec", claims(), typ="logout+jwt"), "kind")
case("two algs in the header",
     signed("rsa", b'{"alg":"none","alg":"RS256","kid":"rsa"}', dump(claims())), "malformed")
case("two algs, one with an escape",
     signed("rsa", b'{"alg":"none","\\u0061lg":"RS256","kid":"rsa"}', dump(claims())), "malformed")
case("two subjects",
     signed("rsa", dump({"alg": "RS256", "kid": "rsa"}), dump(claims())[:-1] + b',"sub":"admin"}'), "malformed")
case("a payload that is no object", signed("rsa", dump({"alg": "RS256", "kid": "rsa"}), b"[]"), "malformed")
case("a payload that is not UTF-8",
     signed("rsa", dump({"alg": "RS256", "kid": "rsa"}), b'{"sub":"\xff"}'), "malformed")
case("something after the payload",
     signed("rsa", dump({"alg": "RS256", "kid": "rsa"}), dump(claims()) + b"{}"), "malformed")
case("deep nesting",
     signed("rsa", dump({"alg": "RS256", "kid": "rsa"}), b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}"), "malformed")
case("a kid that is no text", signed("rsa", b'{"alg":"RS256","kid":7}', dump(claims())), "malformed")
case("a kid that leads to a file", token("rsa", claims(), kid="../../dev/null"), "unknownKey")
case("another issuer", token("ec", claims(iss="https://evil.example")), "issuer")
case("the issuer with a slash", token("ec", claims(iss=ISSUER + "/")), "issuer")
case("no issuer", token("ec", claims(iss=None)), "issuer")
case("another audience", token("ec", claims(aud="other")), "audience")
case("an audience that begins alike", token("ec", claims(aud=AUDIENCE + "-2")), "audience")
case("no audience", token("ec", claims(aud=None)), "audience")
case("an empty list of audiences", token("ec", claims(aud=[])), "audience")
case("an audience that is a number",
     signed("rsa", dump({"alg": "RS256", "kid": "rsa"}), dump(claims(aud=7))), "audience")
case("no subject", token("ec", claims(sub=None)), "subject")
case("an empty subject", token("ec", claims(sub="")), "subject")
case("a subject that is a number",
     signed("rsa", dump({"alg": "RS256", "kid": "rsa"}), dump(claims(sub=7))), "subject")
case("a subject of 256 bytes", token("ec", claims(sub="x" * 256)), "subject")
case("a subject with a line feed", token("ec", claims(sub="a\nb")), "subject")
case("no expiry", token("ec", claims(exp=None)), "expired")
case("expired for more than a minute", token("ec", claims(exp=NOW - 60)), "expired")
case("an expiry that is a text",
     signed("rsa", dump({"alg": "RS256", "kid": "rsa"}), dump(claims(exp=str(NOW + 3600)))), "expired")
case("an expiry far in the past", token("ec", claims(exp=-(2**62))), "expired")
case("an expiry far in the future", token("ec", claims(exp=2**62)))
case("not valid for more than a minute", token("ec", claims(nbf=NOW + 61)), "notYetValid")
case("a beginning that is a text",
     signed("rsa", dump({"alg": "RS256", "kid": "rsa"}), dump(claims(nbf="0"))), "notYetValid")

# Without "alg", an RSA key is taken for RS256.
unnamed = public("stranger", declares=False)
key_set = [public(name) for name in ["rsa", "pss", "ec", "ed", "small"]]
key_set += [{"kty": "oct", "kid": "secret", "k": encode(SECRET)},
            {**public("stranger"), "kid": "for encryption", "use": "enc"},
            {"kty": "EC", "crv": "secp256k1", "kid": "other curve", "x": encode(bytes(32)), "y": encode(bytes(32))},
            {"kty": "new", "kid": "from the future"}]
header = encode(dump({"alg": "HS256", "kid": "secret"}))
code = hmac.new(SECRET, f"{header}.{payload}".encode(), hashlib.sha256).digest()
case("HS256 with a secret that the key set gives away", f"{header}.{payload}.{encode(code)}", "unknownKey")

json.dump({
    "madeBy": f"PyJWT {jwt.__version__}, cryptography {cryptography.__version__}, "
              + subprocess.run(["openssl", "version"], capture_output=True, text=True).stdout.strip(),
    "now": NOW, "issuer": ISSUER, "audience": AUDIENCE,
    "keySet": json.dumps({"keys": key_set}),
    "unnamedKeySet": json.dumps({"keys": [unnamed]}),
    "unnamedToken": jwt.encode(claims(), keys["stranger"], "RS256"),
    "secret": SECRET.hex(),
    "secretToken": jwt.encode(claims(), SECRET, "HS256"),
    "cases": cases,
}, sys.stdout, indent=1)
print()
