internal import Glibc

/// Reads secrets from where other users of the machine cannot see them: files and the environment, never arguments.
enum SecretSource {
    /// The longest secret, in bytes.
    private static let byteCountMax = 1 << 16

    /// The bytes of a file, without the line feed at its end.
    ///
    /// - Throws: ``CommandError`` when it cannot be read, is empty, or is too long.
    static func file(_ path: String, of option: String) throws(CommandError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw .system("--\(option): '\(path)' cannot be read", code: errno) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while bytes.count <= byteCountMax {
            let count = read(file, &buffer, buffer.count)
            guard count >= 0 else { throw .system("--\(option): '\(path)' cannot be read", code: errno) }
            if count == 0 { break }
            bytes += buffer[..<count]
        }
        while bytes.last == 0x0A || bytes.last == 0x0D { bytes.removeLast() }
        guard !bytes.isEmpty, bytes.count <= byteCountMax else {
            throw .failure("--\(option): '\(path)' is empty or longer than \(byteCountMax) bytes")
        }
        return bytes
    }

    /// A secret that is text.
    static func text(_ path: String, of option: String) throws(CommandError) -> String {
        guard let text = String(validating: try file(path, of: option), as: UTF8.self) else {
            throw .failure("--\(option): '\(path)' is not UTF-8")
        }
        return text
    }

    /// A variable of the environment; nil if it is missing or empty.
    static func environment(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(validatingCString: value)
    }
}
