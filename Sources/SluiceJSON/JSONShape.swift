internal import Glibc

/// Remembers the member names of JSON lines, which mostly repeat in the same order. Comparing bytes with the expected
/// names is several times faster than decoding each name and looking for duplicates.
package final class JSONShape {
    /// How many times names are learned. After that, lines that differ are read without the shape.
    private static let lessonCountMax = 16

    private var names: [(literal: [UInt8], name: String)] = []
    private var lessonCount = 0

    package init() {}

    var count: Int { names.count }

    /// The name of the member at an index and its length in bytes with quotes, if this member is at the given position.
    func name(
        _ index: Int, at position: Int, in bytes: UnsafeBufferPointer<UInt8>
    ) -> (name: String, length: Int)? {
        guard index < names.count, let base = bytes.baseAddress else { return nil }
        let length = names[index].literal.count
        guard position + length <= bytes.count, memcmp(base + position, names[index].literal, length) == 0 else {
            return nil
        }
        return (names[index].name, length)
    }

    /// Learns the names of a line that did not match. The names must differ from each other.
    func learn(_ members: [JSONValue.Member]) {
        guard lessonCount < Self.lessonCountMax else { return }
        lessonCount += 1
        // A name that needs escapes never matches its literal and is decoded each time.
        names = members.map { ([0x22] + Array($0.name.utf8) + [0x22], $0.name) }
    }
}
