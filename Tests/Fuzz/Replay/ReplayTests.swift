import Foundation
import FuzzTargets
import TestSupport
import Testing

/// Replays the corpus without the fuzzer: the seeds, and every input that once made a target fail.
@Suite(.ownThread) struct ReplayTests {
    static let corpus = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "corpus")

    @Test(arguments: FuzzTarget.allCases)
    func everyInputOfTheCorpusIsTakenOrRefused(target: FuzzTarget) throws {
        let folder = Self.corpus.appending(path: target.rawValue)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty, "\(folder.path()) holds no input")
        for file in files {
            let bytes = try Array(Data(contentsOf: file))
            target.run(bytes)
            for length in Set([0, 1, bytes.count / 2, max(0, bytes.count - 1)]) {
                target.run(Array(bytes.prefix(length)))
            }
        }
    }
}
