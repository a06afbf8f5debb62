/// What a file beside the segments of a database says of their end, so that who restores notices when the end is missing:
/// a copy of an archive may have been made in part.
struct ArchiveNote: Hashable {
    private static let name = "/last"

    /// The last segment.
    let number: UInt64
    /// Its last group.
    let position: UInt64

    init(_ number: UInt64, _ position: UInt64) {
        self.number = number
        self.position = position
    }

    /// - Parameter folder: that of the segments.
    /// - Returns: nil if there is no such file.
    init?(in folder: String) {
        let words = NoteFile(folder + Self.name).read()?.split(separator: " ") ?? []
        guard words.count == 4, words[0] == "segment", words[2] == "group", let number = UInt64(words[1]),
            let position = UInt64(words[3])
        else { return nil }
        self.init(number, position)
    }

    func write(in folder: String) { NoteFile(folder + Self.name).write("segment \(number) group \(position)") }
}
