#if PostgreSQL

import SluiceModel
import SluiceStorage
import Testing

@testable import SluicePostgres

struct RecordBytesTests {
    @Test(arguments: [1, 1_023, 1_024, 100_000])
    func `a record is the group that it was made of, and compressed if that helps`(count: Int) throws {
        let zeros = [UInt8](repeating: 7, count: count)
        let random = Array(group(1, byteCount: count + 8).encoded().suffix(count))
        for bytes in [zeros, random] { #expect(try RecordBytes.unpack(RecordBytes.pack(bytes)) == bytes) }
        #expect(RecordBytes.pack(random).count == count + 1)
        #expect(RecordBytes.pack(zeros).count < (count < 1_024 ? count + 2 : count / 20))
    }

    @Test func `bytes that are no record are refused`() throws {
        var random = SeededGenerator(seed: 1)
        let packed = RecordBytes.pack([UInt8](repeating: 7, count: 5_000))
        for length in 0..<packed.count where length != 1 {
            #expect(throws: StorageError.self) { try RecordBytes.unpack(Array(packed.prefix(length))) }
        }
        #expect(throws: StorageError.self) { try RecordBytes.unpack([3, 1, 2]) }
        #expect(throws: StorageError.self) { try RecordBytes.unpack([2, 0xFF, 0xFF, 0xFF, 0x7F, 1, 2, 3]) }
        for _ in 0..<2_000 {
            var bytes = packed
            let position = Int.random(in: 1..<bytes.count, using: &random)
            bytes[position] ^= UInt8.random(in: 1 ... .max, using: &random)
            // Another group, or an error; nothing else.
            _ = try? RecordBytes.unpack(bytes)
        }
    }
}

#endif
