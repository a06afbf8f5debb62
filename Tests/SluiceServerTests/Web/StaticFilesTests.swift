import Foundation
import SluiceWeb
import Testing

struct StaticFilesTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Web").standardizedFileURL

    @Test func everyFileOfTheFolderIsInTheProgramAsItIs() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path + "/dashboard")
            .filter { !$0.hasPrefix(".") }
        #expect(Set(names) == Set(StaticFiles.dashboard.map(\.name)), "Web/StaticFiles.swift lists others")
        for file in StaticFiles.dashboard {
            let bytes = try Data(contentsOf: Self.folder.appending(path: "dashboard/\(file.name)"))
            #expect(file.bytes == Array(bytes), "\(file.name)")
        }
        #expect(StaticFiles.module.bytes == Array(try Data(contentsOf: Self.folder.appending(path: "sluice.js"))))
        #expect(Set((StaticFiles.dashboard + [StaticFiles.module]).map(\.tag)).count == StaticFiles.dashboard.count + 1)
    }

    @Test func theFilesAreSmall() {
        let byteCount = StaticFiles.dashboard.reduce(0) { $0 + $1.bytes.count }
        #expect(byteCount <= 60 << 10, "the dashboard has \(byteCount) bytes")
        #expect(StaticFiles.module.bytes.count <= 11 << 10)
    }
}
