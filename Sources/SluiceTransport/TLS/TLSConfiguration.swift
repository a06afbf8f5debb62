/// The certificate that a server shows.
package struct TLSServerConfiguration: Hashable, Sendable {
    /// A PEM file: the server's certificate, then the intermediate ones.
    package var certificateChainFile: String
    /// A PEM file with the key of the first certificate, not encrypted.
    package var privateKeyFile: String

    package init(certificateChainFile: String, privateKeyFile: String) {
        self.certificateChainFile = certificateChainFile
        self.privateKeyFile = privateKeyFile
    }
}

/// Which certificates a client accepts from its server.
package enum TLSTrust: Hashable, Sendable {
    /// A certificate for this host, signed by an authority that the system trusts.
    case systemAuthorities
    /// A certificate for this host, signed by an authority in one of these PEM files.
    case authorities(files: [String])
    /// Any chain that has, or is signed by, the certificate in this PEM file; host and dates do not matter.
    case pinned(file: String)
    /// Any self-signed certificate and no other. This protects against eavesdroppers but not against impostors.
    case selfSignedOnly
}
