import FoundationEssentials
import SluiceModel
import Testing

struct DecimalTextTests {
    @Test(arguments: [
        ("0", "0"), ("-0", "0"), ("0.000", "0"), ("007", "7"), ("1.50", "1.5"), ("-12.5e1", "-125"), ("+3", "3"),
        ("340282366920938463463374607431768211455", "340282366920938463463374607431768211455"),
        ("3402823669209384634633746074317682114.550000", "3402823669209384634633746074317682114.55"),
        ("10e-129", "0." + String(repeating: "0", count: 127) + "1"),
        ("1e160", "1" + String(repeating: "0", count: 160)),
        (
            "340282366920938463463374607431768211455e127",
            "340282366920938463463374607431768211455" + String(repeating: "0", count: 127)
        ),
        ("1" + String(repeating: "0", count: 150) + "e-150", "1"), ("0e999999999999", "0"),
    ])
    func aNumberThatADecimalHoldsIsReadExactly(text: String, expected: String) throws {
        #expect(DecimalText.text(of: try DecimalText.parse(text)) == expected)
    }

    @Test(arguments: [
        "340282366920938463463374607431768211456", "1234567890123456789012345678901234567890.5",
        "0.1000000000000000055511151231257827021181583404541015625", "-1.0000000000000000000000000000000000000001",
    ])
    func aNumberOfMoreDigitsIsRefusedInsteadOfBeingCut(text: String) {
        #expect(throws: DecimalText.Failure.tooManyDigits) { try DecimalText.parse(text) }
    }

    @Test(arguments: [
        "1e-129", "1e166", "340282366920938463463374607431768211455e128", "5e-324", "1e99999999999999999",
    ])
    func aNumberBeyondTheRangeIsRefused(text: String) {
        #expect(throws: DecimalText.Failure.outOfRange) { try DecimalText.parse(text) }
    }

    @Test(arguments: ["", "-", ".", "e5", "1e", "1e+", "1.2.3", "0x10", "NaN", " 1", "1 ", "١", "--1", "1e5.0"])
    func whatIsNoNumberIsNoDecimal(text: String) {
        #expect(throws: DecimalText.Failure.malformed) { try DecimalText.parse(text) }
    }
}
