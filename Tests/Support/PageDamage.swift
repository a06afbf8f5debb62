package import Foundation

/// What happens to a page of a database file.
package enum PageDamage: String, CaseIterable, Sendable {
    /// The disk lost it.
    case zeroed
    /// Its first bytes, which say what it is, are gone.
    case beheaded
    /// The file ends before it.
    case cutOff
    /// A few bits of it are others.
    case flipped
    /// All of it is noise.
    case noise
    /// It is another page of the file.
    case replaced

    package static let pageSize = 4_096

    /// The first page that it can happen to: a file that ends before its first page is an empty one, which is not damaged.
    package var firstPage: Int { self == .cutOff ? 1 : 0 }

    /// Whether SQLite can see it where the page belongs to a tree: pages have no sums, so that other bits may be anybody's
    /// content.
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

    /// The page that holds a text for the first time from an offset on; nil if none does.
    package static func page(of text: String, in file: Data, from page: Int = 0) -> Int? {
        file[(file.startIndex + page * pageSize)...].firstRange(of: Data(text.utf8))
            .map { ($0.lowerBound - file.startIndex) / pageSize }
    }
}
