import { defineErrors } from 'svc/kernel'

/** Reasons why a drive cannot be opened. Each throw site adds the path and the remedy. */
export const driveErrors = defineErrors({
  drive_in_use: { status: 503, title: 'Another server process has this drive open.' },
  drive_foreign: { status: 503, title: 'The folder is not empty and not a drive of this server.' },
  drive_of_other_deployment: { status: 503, title: 'The drive belongs to another deployment.' },
  drive_too_new: { status: 503, title: 'The drive was written by a newer release of this server.' },
  drive_not_writable: { status: 503, title: 'The drive cannot be written.' },
  drive_incomplete: { status: 503, title: 'A part of the drive is missing.' },
  format_damaged: { status: 503, title: 'The drive cannot be identified: format.json is damaged.' },
  journal_damaged: { status: 503, title: 'The journal is damaged.' },
})
