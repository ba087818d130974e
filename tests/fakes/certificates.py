"""A certificate authority of our own for a test run, good and bad certificates of its, and of none.

Made with the openssl command; all share one key, which is made in an instant.
"""
import ssl
import subprocess
from pathlib import Path

# Only against hanging.
PATIENCE = 120

CONFIGURATION = """
[ca]
default_ca = own
[own]
database = {folder}/index
new_certs_dir = {folder}
serial = {folder}/serial
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
subjectKeyIdentifier = hash
"""


class Certificates:
    """`ca_file` is what a client has to trust. Each certificate is a PEM file that holds the key, too."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.configuration = self.folder / "configuration"
        self.configuration.write_text(CONFIGURATION.format(folder=folder))
        (self.folder / "index").write_text("")
        (self.folder / "serial").write_text("1000\n")
        self.key = self.folder / "key.pem"
        self.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.key)
        self.ca_file = self.folder / "ca.pem"
        self.openssl("req", "-x509", "-config", self.configuration, "-extensions", "authority", "-key", self.key,
                     "-subj", "/CN=An authority for tests", "-days", "30", "-out", self.ca_file)

    def openssl(self, *words):
        done = subprocess.run(["openssl", *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=PATIENCE)
        assert done.returncode == 0, f"openssl {words[0]}: {done.stdout.decode(errors='replace')}"

    def make(self, name, hosts, start="20200101000000Z", end="20991231235959Z"):
        """Signed by the authority, for these hosts ("localhost", "*.example.com")."""
        request, extensions, certificate = (self.folder / f"{name}.{kind}" for kind in ("csr", "ext", "crt"))
        names = ",".join(f"DNS:{host}" for host in hosts)
        extensions.write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\n")
        self.openssl("req", "-new", "-config", self.configuration, "-key", self.key, "-subj", f"/CN={name}",
                     "-out", request)
        self.openssl("ca", "-batch", "-notext", "-config", self.configuration, "-cert", self.ca_file,
                     "-keyfile", self.key, "-in", request, "-extfile", extensions, "-startdate", start,
                     "-enddate", end, "-out", certificate)
        return self.server(certificate)

    def self_signed(self, name, hosts):
        certificate = self.folder / f"{name}.crt"
        names = ",".join(f"DNS:{host}" for host in hosts)
        self.openssl("req", "-x509", "-config", self.configuration, "-key", self.key, "-subj", f"/CN={name}",
                     "-addext", f"subjectAltName={names}", "-days", "30", "-out", certificate)
        return self.server(certificate)

    def hashed(self):
        """The authority in a folder as SSL_CERT_DIR wants it."""
        folder = self.folder / "hashed"
        folder.mkdir(exist_ok=True)
        (folder / "ca.pem").write_bytes(self.ca_file.read_bytes())
        self.openssl("rehash", folder)
        return folder

    def server(self, certificate):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, self.key)
        return context
