#if PostgreSQL

internal import FoundationEssentials
internal import SluiceModel

/// The file in a node's data folder by which PostgreSQL knows that a run follows another in the same folder, so that the
/// name of a node that was killed is free for it at once.
struct NodeFile {
    let path: String

    /// 32 hexadecimal digits, which are drawn when they are first asked for; nil if the file cannot be read or written.
    var identity: String? {
        if let data = FileManager.default.contents(atPath: path) {
            let text = String(decoding: data, as: UTF8.self).filter(\.isHexDigit)
            return text.count == 32 ? text : nil
        }
        let identity = Hexadecimal.encode((0..<16).map { _ in UInt8.random(in: .min ... .max) })
        let isWritten = (try? Data((identity + "\n").utf8).write(to: URL(filePath: path), options: .atomic)) != nil
        return isWritten ? identity : nil
    }
}

#endif
