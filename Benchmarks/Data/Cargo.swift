import Sluice

/// What makes a database large: each takes about 4 KB that does not compress.
@Model struct Cargo {
    @PrimaryKey var id: Int
    var content: String

    static let byteCount = 4_096

    private static let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_".utf8)

    /// The cargo with a number: always the same one.
    static func numbered(_ number: Int) -> Cargo {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount)
        var step = 0
        while bytes.count < byteCount {
            var bits = Mixer.mix(number &* 1_024 &+ step)
            for _ in 0..<10 {
                bytes.append(letters[Int(bits & 63)])
                bits >>= 6
            }
            step += 1
        }
        return Cargo(id: number, content: String(decoding: bytes, as: UTF8.self))
    }
}
