import Foundation
import Glibc

/// `sluice serve` on a free port, over a folder of its own.
final class ServerProcess {
    let folder: String
    private(set) var process: CommandProcess
    private(set) var address: String
    private let removesFolder: Bool

    init(folder: String? = nil) throws {
        self.folder = folder ?? NSTemporaryDirectory() + "sluice-server-" + UUID().uuidString
        removesFolder = folder == nil
        process = try CommandProcess(["serve", "--data=\(self.folder)", "--listen=127.0.0.1:0", "--dev"])
        let line = try process.line()
        address = line.replacingOccurrences(of: "listening on ", with: "")
    }

    func url(_ database: String = "test") -> String { "\(address)/\(database)" }

    deinit {
        process.send(signal: SIGTERM)
        _ = try? process.finish()
        if removesFolder { try? FileManager.default.removeItem(atPath: folder) }
    }
}
