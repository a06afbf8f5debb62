internal import Glibc

/// Reads whole files of a bounded size.
enum SmallFile {
    /// The bytes of a file.
    ///
    /// - Parameters:
    ///   - subject: the option that names the file, or what the file is, for messages.
    ///   - byteCountMax: the most bytes that it may have.
    /// - Throws: ``CommandError`` when the file cannot be read or is longer.
    static func bytes(_ path: String, of subject: String, byteCountMax: Int) throws(CommandError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw .system("\(subject): '\(path)' cannot be read", code: errno) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while bytes.count <= byteCountMax {
            let count = read(file, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .system("\(subject): '\(path)' cannot be read", code: errno) }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
        throw .failure("\(subject): '\(path)' is longer than \(byteCountMax) bytes")
    }

    /// The text of a file.
    ///
    /// - Throws: as ``bytes(_:of:byteCountMax:)``, and when it is not UTF-8.
    static func text(_ path: String, of subject: String, byteCountMax: Int) throws(CommandError) -> String {
        let bytes = try bytes(path, of: subject, byteCountMax: byteCountMax)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .failure("\(subject): '\(path)' is not UTF-8")
        }
        return text
    }
}
