import SluiceModel
import Synchronization
import Testing

@testable import SluiceAccess

struct PasswordTests {
    private let cheap = PasswordHash.Parameters(costExponent: 4, blockSize: 8, parallelism: 1)

    /// RFC 7914, section 12.
    @Test(arguments: [
        ("", "", 4, 1, 1, "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"),
        ("password", "NaCl", 10, 8, 16, "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"),
        (
            "pleaseletmein", "SodiumChloride", 14, 8, 1,
            "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
        ),
    ])
    func scryptAgreesWithItsStandard(
        password: String, salt: String, exponent: Int, blockSize: Int, parallelism: Int, expected: String
    ) {
        let key = PasswordHash.key(
            of: Array(password.utf8), salt: Array(salt.utf8),
            .init(costExponent: exponent, blockSize: blockSize, parallelism: parallelism), byteCount: 64)
        #expect(Hexadecimal.encode(key?.prefix(32) ?? []) == expected)
    }

    @Test func theStandardParametersFitTheMemoryThatTheyNeed() throws {
        let hash = try #require(PasswordHash(of: Array("correct horse".utf8)))
        #expect(hash.text.hasPrefix("$scrypt$17$8$1$"))
        #expect(hash.matches(Array("correct horse".utf8)))
    }

    @Test func aHashComesBackFromItsTextAndMatchesItsPasswordAlone() throws {
        let hash = try #require(PasswordHash(of: Array("secret-1".utf8), parameters: cheap))
        let again = try #require(PasswordHash(hash.text))
        #expect(again == hash)
        #expect(again.matches(Array("secret-1".utf8)))
        for other in ["secret-2", "", "secret-1 ", "SECRET-1"] { #expect(!again.matches(Array(other.utf8))) }
        #expect(PasswordHash(of: Array("secret-1".utf8), parameters: cheap)?.text != hash.text)
    }

    @Test(arguments: [
        "", "$scrypt$17$8$1$AAAA", "$scrypt$40$8$1$AAAA$AAAA", "$argon2$17$8$1$AAAA$AAAA",
        "$scrypt$20$32$1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "$scrypt$-1$8$1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    ])
    func aTextThatWouldCostTooMuchOrIsNoneIsRefused(text: String) { #expect(PasswordHash(text) == nil) }

    @Test(arguments: [(7, false), (8, true), (256, true), (257, false), (100_000, false)])
    func aPasswordHas8To256Characters(count: Int, isFine: Bool) {
        #expect((PasswordPolicy.problem(with: String(repeating: "é", count: count)) == nil) == isFine)
    }

    @Test func fiveTriesAreFreeAndEachFurtherOneDoublesTheWait() {
        let clock = TestClock()
        var throttle = PasswordThrottle()
        for _ in 0..<5 { #expect(throttle.begin(["user a", "address 1"], now: clock.now) == nil) }
        var waits: [Int64] = []
        for _ in 0..<13 {
            let wait = throttle.begin(["user a", "address 1"], now: clock.now) ?? 0
            waits.append(wait / 1_000_000)
            clock.advance(seconds: wait / 1_000_000)
            if wait < PasswordThrottle.waitMax {
                #expect(throttle.begin(["user a", "address 1"], now: clock.now) == nil)
            }
        }
        #expect(waits.prefix(11) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900])
    }

    @Test func anAccountIsThrottledFromEveryAddressAndAnAddressForEveryAccount() {
        let now = TestClock().now
        var throttle = PasswordThrottle()
        for index in 0..<5 { _ = throttle.begin(["user a", "address \(index)"], now: now) }
        #expect(throttle.begin(["user a", "address 9"], now: now) != nil)
        #expect(throttle.begin(["user b", "address 9"], now: now) == nil)
        for index in 0..<5 { _ = throttle.begin(["user x\(index)", "address 7"], now: now) }
        #expect(throttle.begin(["user y", "address 7"], now: now) != nil)
    }

    @Test func aLoginThatSucceedsFreesItsAccountAndNotTheAddress() {
        let now = TestClock().now
        var throttle = PasswordThrottle()
        for index in 0..<4 { _ = throttle.begin(["user x\(index)", "address 1"], now: now) }
        #expect(throttle.begin(["user own", "address 1"], now: now) == nil)
        throttle.succeeded(account: "user own", address: "address 1")
        #expect(throttle.begin(["user x", "address 1"], now: now) == nil)
        #expect(throttle.begin(["user y", "address 1"], now: now) != nil)
    }

    @Test func failuresAreForgottenAfterAQuarterOfAnHour() {
        let clock = TestClock()
        var throttle = PasswordThrottle()
        for _ in 0..<5 { _ = throttle.begin(["user a"], now: clock.now) }
        clock.advance(seconds: 900)
        for _ in 0..<5 { #expect(throttle.begin(["user a"], now: clock.now) == nil) }
        #expect(throttle.begin(["user a"], now: clock.now) != nil)
    }

    @Test func aFloodOfNamesTakesBoundedMemoryAndDisplacesNoAccountUnderAttack() {
        let now = TestClock().now
        var throttle = PasswordThrottle(entryCountMax: 100)
        for _ in 0..<5 { _ = throttle.begin(["user victim"], now: now) }
        for index in 0..<1_000 { _ = throttle.begin(["user \(index)"], now: now) }
        #expect(throttle.entryCount == 100)
        #expect(throttle.begin(["user victim"], now: now) != nil)
    }

    @Test func eachTryThatWorkersTakeIsAnsweredOnceWhateverBecomesOfIt() async {
        let workers = PasswordWorkers(waitingCountMax: 3)
        let answers = await withTaskGroup(of: PasswordAnswer.self) { group in
            for index in 0..<40 {
                let wait = LoginWait()
                group.addTask {
                    await withCheckedContinuation { continuation in
                        if index % 7 == 3 { wait.end() }
                        workers.add(
                            PasswordTry(
                                isUser: index % 2 == 0, wait: wait,
                                compare: { index % 4 == 0 },
                                answer: { continuation.resume(returning: $0) }))
                    }
                }
            }
            var answers: [PasswordAnswer] = []
            for await answer in group { answers.append(answer) }
            return answers
        }
        #expect(answers.count == 40)
    }
}
