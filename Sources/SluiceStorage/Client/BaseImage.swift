package import SluiceModel

/// The server's state of an object that has pending operations.
package enum BaseImage: Hashable, Sendable {
    /// The server, as far as this client knows, has no such object.
    case none
    case row(Row)
}
