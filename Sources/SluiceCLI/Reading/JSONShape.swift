internal import Glibc

/// The members' names of one line of JSON after another: mostly the same in the same order. Comparing bytes with what is
/// expected is several times faster than reading names anew, and finding none twice.
final class JSONShape {
    /// Files whose lines differ all the time are read without.
    private static let lessonCountMax = 16

    private var names: [(literal: [UInt8], name: String)] = []
    private var lessonCount = 0

    var count: Int { names.count }

    /// The name of the member at an index, if that is what stands at a position; with its length in bytes, quotes included.
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

    /// Takes in the names of a line that was not as expected; they differ from each other.
    func learn(_ members: [JSONValue.Member]) {
        guard lessonCount < Self.lessonCountMax else { return }
        lessonCount += 1
        // A name whose quoted form is not just itself is never recognised, which is right.
        names = members.map { ([0x22] + Array($0.name.utf8) + [0x22], $0.name) }
    }
}
