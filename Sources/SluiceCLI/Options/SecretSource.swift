internal import Glibc

/// Reads secrets from where other users of the machine cannot see them: files and the environment, never arguments.
enum SecretSource {
    /// The longest secret, in bytes.
    private static let byteCountMax = 1 << 16

    /// The bytes of a file, without the line feed at its end.
    ///
    /// - Throws: ``CommandError`` when it cannot be read, is empty, or is too long.
    static func file(_ path: String, of option: String) throws(CommandError) -> [UInt8] {
        var bytes = try SmallFile.bytes(path, of: "--\(option)", byteCountMax: byteCountMax)
        while bytes.last == 0x0A || bytes.last == 0x0D { bytes.removeLast() }
        guard !bytes.isEmpty else { throw .failure("--\(option): '\(path)' is empty") }
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
