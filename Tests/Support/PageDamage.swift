package import Foundation
package import SluiceModel

/// A kind of damage to a page of a database file.
package enum PageDamage: String, CaseIterable, Sendable {
    /// The disk has lost the page.
    case zeroed
    /// The first bytes, which give the page's type, are gone.
    case beheaded
    /// The file ends before the page.
    case cutOff
    /// A few bits are changed.
    case flipped
    /// The page is random bytes.
    case noise
    /// The page is a copy of another page of the file.
    case replaced

    package static let pageSize = 4_096

    /// The first page that this can damage. A file that ends before its first page is empty, and not damaged.
    package var firstPage: Int { self == .cutOff ? 1 : 0 }

    /// Whether SQLite can detect the damage if the page belongs to a tree. Pages have no checksums, so changed bits may
    /// look like content.
    package var isSeen: Bool { self == .zeroed || self == .beheaded || self == .cutOff }

    package func apply(to file: inout Data, page: Int, using generator: inout SeededGenerator) {
        let start = file.startIndex + page * Self.pageSize
        let range = start..<start + Self.pageSize
        switch self {
        case .zeroed: file.replaceSubrange(range, with: Data(count: Self.pageSize))
        case .beheaded: file.replaceSubrange(start..<start + 16, with: Data(count: 16))
        case .cutOff: file = file.prefix(page * Self.pageSize)
        case .flipped:
            for _ in 0..<Int.random(in: 1...12, using: &generator) {
                file[Int.random(in: range, using: &generator)] ^= UInt8(1) << UInt8.random(in: 0..<8, using: &generator)
            }
        case .noise: file.replaceSubrange(range, with: Data(generator.bytes(Self.pageSize)))
        case .replaced:
            let other =
                file.startIndex
                + Int.random(in: 0..<file.count / Self.pageSize, using: &generator) * Self.pageSize
            file.replaceSubrange(range, with: file.subdata(in: other..<other + Self.pageSize))
        }
    }

    /// The first page after an offset that contains a text; nil if none does.
    package static func page(of text: String, in file: Data, from page: Int = 0) -> Int? {
        file[(file.startIndex + page * pageSize)...].firstRange(of: Data(text.utf8))
            .map { ($0.lowerBound - file.startIndex) / pageSize }
    }
}
