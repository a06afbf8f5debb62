import Foundation
import TestSupport

/// A file that exists as long as the value that holds it.
final class TemporaryFile {
    let path: String

    init(_ text: String, suffix: String = ".csv") throws {
        path = NSTemporaryDirectory() + "sluice-" + UUID().uuidString + suffix
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    /// Makes a file with the same text, packed by gzip.
    static func packed(_ text: String, suffix: String = ".csv") throws -> TemporaryFile {
        let file = try TemporaryFile(text, suffix: suffix)
        guard try runBlocking("/usr/bin/env", ["gzip", "-k", file.path]) == 0 else { throw Failure("gzip failed") }
        return TemporaryFile(existing: file.path + ".gz")
    }

    init(existing path: String) { self.path = path }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
        if path.hasSuffix(".gz") { try? FileManager.default.removeItem(atPath: String(path.dropLast(3))) }
    }
}

extension TemporaryFile {
    convenience init(bytes: [UInt8], suffix: String) throws {
        let path = NSTemporaryDirectory() + "sluice-" + UUID().uuidString + suffix
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        self.init(existing: path)
    }
}

/// The bytes of a file; nil if it cannot be read.
func readAll(_ path: String) -> [UInt8]? { FileManager.default.contents(atPath: path).map { Array($0) } }
