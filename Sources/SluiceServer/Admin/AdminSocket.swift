/// The socket by which a server's operator talks to it: a file in the data folder, with HTTP.
package enum AdminSocket {
    /// The file's name.
    package static let name = "admin.sock"
}
